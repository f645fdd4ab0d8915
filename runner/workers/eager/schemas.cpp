#include "workers/eager/schemas.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>

#include "workers/eager/environment.h"
#include "workers/eager/names.h"
#include "workers/eager/values.h"

namespace lockstep::eager {
namespace {

using c10::TypeKind;
using nlohmann::ordered_json;

std::string type_name(const c10::Type& type) {
  switch (type.kind()) {
    case TypeKind::OptionalType:
      return type_name(*type.expectRef<c10::OptionalType>().getElementType()) + "?";
    case TypeKind::ListType:
      return type_name(*type.expectRef<c10::ListType>().getElementType()) + "[]";
    case TypeKind::IntType:
    case TypeKind::SymIntType:
      return "int";
    case TypeKind::FloatType:
    case TypeKind::SymFloatType:
      return "float";
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      return "bool";
    case TypeKind::NumberType:
      return "Scalar";
    case TypeKind::DeviceObjType:
      return "Device";
    default:
      return type.str();
  }
}

/// Releases differ in their tags: those that this one lacks are left out when it is compiled.
template <class Tag>
std::vector<std::pair<Tag, const char*>> tag_names() {
  std::vector<std::pair<Tag, const char*>> names;
#define LOCKSTEP_TAG(tag) \
  if constexpr (requires { Tag::tag; }) names.emplace_back(Tag::tag, #tag)
  LOCKSTEP_TAG(core);
  LOCKSTEP_TAG(cudagraph_unsafe);
  LOCKSTEP_TAG(data_dependent_output);
  LOCKSTEP_TAG(dynamic_output_shape);
  LOCKSTEP_TAG(flexible_layout);
  LOCKSTEP_TAG(generated);
  LOCKSTEP_TAG(inplace);
  LOCKSTEP_TAG(inplace_view);
  LOCKSTEP_TAG(maybe_aliasing_or_mutating);
  LOCKSTEP_TAG(needs_contiguous_strides);
  LOCKSTEP_TAG(needs_exact_strides);
  LOCKSTEP_TAG(needs_fixed_stride_order);
  LOCKSTEP_TAG(nondeterministic_bitwise);
  LOCKSTEP_TAG(nondeterministic_seeded);
  LOCKSTEP_TAG(out);
  LOCKSTEP_TAG(out_variant);
  LOCKSTEP_TAG(pointwise);
  LOCKSTEP_TAG(pt2_compliant_tag);
  LOCKSTEP_TAG(reduction);
  LOCKSTEP_TAG(view_copy);
#undef LOCKSTEP_TAG
  return names;
}

ordered_json tags(const c10::OperatorHandle& op) {
  ordered_json names = ordered_json::array();
  for (const auto& [tag, name] : tag_names<at::Tag>()) {
    if (op.hasTag(tag)) names.push_back(name);
  }
  return names;
}

/// Enumerations are ints inside torch and words in the protocol.
ordered_json default_value(const c10::IValue& value, const c10::Type& type) {
  if (value.isInt()) {
    switch (type.kind()) {
      case TypeKind::ScalarTypeType:
        return {{"dtype", dtype_name(static_cast<c10::ScalarType>(value.toInt()))}};
      case TypeKind::LayoutType:
        return {{"layout", layout_name(static_cast<c10::Layout>(value.toInt()))}};
      case TypeKind::MemoryFormatType:
        return {
            {"memory_format", memory_format_name(static_cast<c10::MemoryFormat>(value.toInt()))}};
      default:
        break;
    }
  }
  if (type.kind() == TypeKind::OptionalType) {
    return default_value(value, *type.expectRef<c10::OptionalType>().getElementType());
  }
  if (value.isList()) {
    ordered_json list = ordered_json::array();
    for (const c10::IValue& item : value.toList().vec()) {
      list.push_back(default_value(item, *value.toList().elementType()));
    }
    return list;
  }
  return to_json(value).value_or(nullptr);
}

ordered_json describe_argument(const c10::Argument& argument) {
  ordered_json described;
  described["name"] = argument.name();
  described["type"] = type_name(*argument.real_type());
  described["kwarg_only"] = argument.kwarg_only();
  described["mutates"] = argument.alias_info() && argument.alias_info()->isWrite();
  described["has_default"] = argument.default_value().has_value();
  if (argument.default_value()) {
    described["default"] = default_value(*argument.default_value(), *argument.real_type());
  }
  if (argument.N()) described["list_size"] = *argument.N();
  return described;
}

using AliasSets = std::unordered_set<c10::Symbol>;

/// The sets that a value or its elements may share memory with.
AliasSets alias_sets(const c10::AliasInfo* info) {
  if (!info) return {};
  AliasSets sets = info->beforeSets();
  for (const c10::AliasInfo& contained : info->containedTypes()) {
    sets.insert(contained.beforeSets().begin(), contained.beforeSets().end());
  }
  sets.erase(c10::AliasInfo::wildcardSet());
  return sets;
}

ordered_json describe_return(const c10::Argument& result, const c10::FunctionSchema& schema) {
  ordered_json described;
  described["type"] = type_name(*result.real_type());
  described["name"] = result.name();
  for (const c10::Symbol& set : alias_sets(result.alias_info())) {
    for (const c10::Argument& argument : schema.arguments()) {
      if (!alias_sets(argument.alias_info()).contains(set)) continue;
      described["alias_of"] = argument.name();
      return described;
    }
  }
  return described;
}

ordered_json describe_overload(const c10::OperatorHandle& op) {
  const c10::FunctionSchema& schema = op.schema();
  ordered_json described;
  described["overload"] = schema.overload_name().empty() ? "default" : schema.overload_name();
  described["tags"] = tags(op);
  described["cpu"] = op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU);
  described["arguments"] = described["returns"] = ordered_json::array();
  for (const auto& argument : schema.arguments()) {
    described["arguments"].push_back(describe_argument(argument));
  }
  for (const auto& result : schema.returns()) {
    described["returns"].push_back(describe_return(result, schema));
  }
  return described;
}

}  // namespace

ordered_json schemas() {
  auto& dispatcher = c10::Dispatcher::singleton();
  auto names = dispatcher.getAllOpNames();
  const auto key = [](const c10::OperatorName& op) { return std::tie(op.name, op.overload_name); };
  std::sort(names.begin(), names.end(),
            [&](const auto& a, const auto& b) { return key(a) < key(b); });

  ordered_json document;
  document["format"] = 1;
  document["torch"] = torch_version();
  document["operators_digest"] = operators_digest();
  document["operators"] = ordered_json::object();
  // ordered_json looks keys up one by one: append to the last entry instead.
  auto& operators = document["operators"].get_ref<ordered_json::object_t&>();
  for (const c10::OperatorName& name : names) {
    const auto op = dispatcher.findSchema(name);
    if (!op) continue;
    if (operators.empty() || operators.back().first != name.name) {
      static_cast<std::vector<ordered_json::object_t::value_type>&>(operators).emplace_back(
          name.name, ordered_json::array());
    }
    operators.back().second.push_back(describe_overload(*op));
  }
  document["devices"] = ordered_json::array();
  for (const c10::DeviceType kind : device_kinds())
    document["devices"].push_back(c10::DeviceTypeName(kind, /*lower_case=*/true));
  document["dtypes"] = ordered_json::array();
  for (const c10::ScalarType type : all_dtypes()) {
    document["dtypes"].push_back({{"name", dtype_name(type)}, {"bytes", c10::elementSize(type)}});
  }
  return document;
}

}  // namespace lockstep::eager
