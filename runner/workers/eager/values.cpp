#include "workers/eager/values.h"

#include <ATen/ScalarOps.h>
#include <ATen/core/Tensor.h>

#include "program/program_json.h"
#include "workers/eager/errors.h"
#include "workers/eager/names.h"

namespace lockstep::eager {
namespace {

using c10::IValue;
using c10::TypeKind;
using nlohmann::json;

[[noreturn]] void wrong_type(const IValue& value, const c10::Type& type) {
  TORCH_CHECK_TYPE(false, "expected ", type.repr_str(), " but got ", value.tagKind());
}

bool is_number(const IValue& value) {
  return value.isInt() || value.isDouble() || value.isBool() || value.isComplexDouble() ||
         value.isUnsigned();
}

at::Tensor wrapped_number(const at::Scalar& number) {
  at::Tensor tensor = c10::scalar_to_tensor(number);
  tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
  return tensor;
}

/// The number that a 0-dimensional tensor holds, where Python would take it as one.
IValue unwrap(const IValue& value) {
  if (!value.isTensor() || !value.toTensor().defined() || value.toTensor().dim() != 0) return value;
  return IValue(value.toTensor().item());
}

IValue list_element(const IValue& value, const c10::TypePtr& type);

IValue convert(const IValue& value, const c10::TypePtr& type, std::optional<int> length) {
  switch (type->kind()) {
    case TypeKind::OptionalType:
      if (value.isNone()) return value;
      return convert(value, type->expectRef<c10::OptionalType>().getElementType(), length);
    case TypeKind::TensorType:
      if (value.isNone()) return IValue(at::Tensor());
      if (value.isTensor()) return value;
      if (is_number(value)) return wrapped_number(value.toScalar());
      break;
    case TypeKind::IntType:
    case TypeKind::SymIntType: {
      IValue number = unwrap(value);
      if (number.isInt()) return number;
      break;
    }
    case TypeKind::FloatType:
    case TypeKind::SymFloatType: {
      IValue number = unwrap(value);
      if (number.isDouble()) return number;
      if (number.isInt()) return static_cast<double>(number.toInt());
      break;
    }
    case TypeKind::BoolType:
    case TypeKind::SymBoolType:
      if (value.isBool()) return value;
      break;
    case TypeKind::NumberType: {
      IValue number = unwrap(value);
      if (is_number(number)) return number;
      break;
    }
    case TypeKind::StringType:
      if (value.isString()) return value;
      break;
    case TypeKind::DeviceObjType:
      if (value.isDevice()) return value;
      break;
    case TypeKind::ScalarTypeType:
    case TypeKind::LayoutType:
    case TypeKind::MemoryFormatType:
      if (value.isInt()) return value;
      break;
    case TypeKind::GeneratorType:
    case TypeKind::StorageType:
    case TypeKind::StreamObjType:
      throw Unsupported("an argument of type " + type->repr_str());
    case TypeKind::ListType: {
      c10::TypePtr element = type->expectRef<c10::ListType>().getElementType();
      // Kernels that take SymInt[] accept a list of plain ints.
      if (element->kind() == TypeKind::SymIntType) element = c10::IntType::get();
      c10::impl::GenericList list(element);
      if (value.isTuple()) {
        for (const IValue& item : value.toTupleRef().elements()) {
          list.push_back(list_element(item, element));
        }
      } else if (value.isList()) {
        for (const IValue& item : value.toListRef()) list.push_back(list_element(item, element));
      } else if (length && !value.isNone()) {
        const IValue item = list_element(value, element);
        for (int i = 0; i < *length; ++i) list.push_back(item);
      } else {
        break;
      }
      return list;
    }
    default:
      throw Unsupported("an argument of type " + type->repr_str());
  }
  wrong_type(value, *type);
}

IValue list_element(const IValue& value, const c10::TypePtr& type) {
  return convert(value, type, std::nullopt);
}

/// What each kind of value is in torch.
struct IValueOf {
  const Scope& scope;

  IValue operator()(std::monostate) const { return {}; }
  IValue operator()(bool value) const { return value; }
  IValue operator()(std::int64_t value) const { return value; }
  IValue operator()(std::uint64_t value) const { return value; }
  IValue operator()(Float value) const { return value.value; }
  IValue operator()(const Complex& value) const {
    return c10::complex<double>(value.real.value, value.imaginary.value);
  }
  IValue operator()(const Ref& value) const { return lookup(scope, value.name); }
  IValue operator()(const std::string& value) const { return value; }
  IValue operator()(const Enumeration& value) const {
    switch (value.kind) {
      case Enumeration::Kind::dtype:
        return static_cast<std::int64_t>(parse_dtype(value.word));
      case Enumeration::Kind::layout:
        return static_cast<std::int64_t>(parse_layout(value.word));
      case Enumeration::Kind::memory_format:
        return static_cast<std::int64_t>(parse_memory_format(value.word));
      case Enumeration::Kind::device:
        return parse_device(value.word);
    }
    return {};
  }
  IValue operator()(const Value::List& value) const {
    c10::impl::GenericList list(c10::AnyType::get());
    for (const Value& item : value) list.push_back(to_ivalue(item, scope));
    return list;
  }
};

/// An enumeration is an int once it is an IValue, so that it must be told apart here.
bool fits_enumeration(const Value& value, const c10::Type& type) {
  using Word = Enumeration::Kind;
  const auto* word = std::get_if<Enumeration>(&value.is);
  const auto holds = [&](Word kind) { return word != nullptr && word->kind == kind; };
  switch (type.kind()) {
    case TypeKind::ScalarTypeType:
      return holds(Word::dtype);
    case TypeKind::LayoutType:
      return holds(Word::layout);
    case TypeKind::MemoryFormatType:
      return holds(Word::memory_format);
    case TypeKind::OptionalType:
      return value.is_none() ||
             fits_enumeration(value, *type.expectRef<c10::OptionalType>().getElementType());
    case TypeKind::ListType:
      return true;
    default:
      return word == nullptr || word->kind == Word::device;
  }
}

}  // namespace

const IValue& lookup(const Scope& scope, const std::string& name) {
  const auto found = scope.find(name);
  if (found == scope.end()) throw Malformed("nothing is named " + name);
  return found->second;
}

Value parse_value(const json& value) {
  auto read = value_from_json(Json(value));
  if (!read) throw Malformed("not a value: " + to_string(read.error()));
  return std::move(*read);
}

IValue to_ivalue(const Value& value, const Scope& scope) {
  return std::visit(IValueOf{scope}, value.is);
}

IValue to_argument(const Value& value, const c10::TypePtr& type, std::optional<int> length,
                   const Scope& scope) {
  const IValue ivalue = to_ivalue(value, scope);
  if (!fits_enumeration(value, *type)) wrong_type(ivalue, *type);
  return convert(ivalue, type, length);
}

std::optional<nlohmann::ordered_json> to_json(const IValue& value) {
  if (value.isNone()) return nlohmann::ordered_json(nullptr);
  if (value.isBool()) return nlohmann::ordered_json(value.toBool());
  if (value.isInt() || value.isSymInt()) return nlohmann::ordered_json(value.toInt());
  if (value.isUnsigned()) return nlohmann::ordered_json(value.toUInt());
  if (value.isDouble()) return nlohmann::ordered_json{{"float", float_text(value.toDouble())}};
  if (value.isComplexDouble()) {
    const auto number = value.toComplexDouble();
    return nlohmann::ordered_json{
        {"complex", {float_text(number.real()), float_text(number.imag())}}};
  }
  if (value.isString()) return nlohmann::ordered_json{{"str", value.toStringRef()}};
  if (value.isDevice()) return nlohmann::ordered_json{{"device", value.toDevice().str()}};
  return std::nullopt;
}

}  // namespace lockstep::eager
