#include "workers/eager/operators.h"

#include <algorithm>
#include <set>

#include "workers/eager/errors.h"

namespace lockstep::eager {
namespace {

bool mentions(const c10::Type& type, c10::TypeKind kind) {
  if (type.kind() == kind) return true;
  for (const c10::TypePtr& contained : type.containedTypes()) {
    if (mentions(*contained, kind)) return true;
  }
  return false;
}

/// Namespaces whose operators reach beyond the process or into the profiler.
bool reaches_out(const std::string& name) {
  static const std::set<std::string> refused = {
      "c10d", "_c10d_functional", "_c10d_functional_autograd", "symm_mem", "profiler"};
  return refused.contains(name.substr(0, name.find("::")));
}

}  // namespace

std::optional<std::string> refusal(const c10::FunctionSchema& schema) {
  static const std::set<std::string> file_names = {"filename", "file_name", "file", "path"};
  if (reaches_out(schema.name())) return "its namespace";
  for (const c10::Argument& argument : schema.arguments()) {
    const c10::Type& type = *argument.real_type();
    if (mentions(type, c10::TypeKind::StorageType)) return "it takes a storage";
    if (mentions(type, c10::TypeKind::StreamObjType)) return "it takes a stream";
    if (mentions(type, c10::TypeKind::StringType) && file_names.contains(argument.name())) {
      return "it takes the name of a file";
    }
  }
  return std::nullopt;
}

c10::OperatorHandle find_operator(const std::string& spelling) {
  const std::size_t dot = spelling.rfind('.');
  if (dot == std::string::npos || spelling.find("::") == std::string::npos) {
    throw Malformed("not an overload: " + spelling);
  }
  const std::string overload = spelling.substr(dot + 1);
  const auto found = c10::Dispatcher::singleton().findSchema(
      {spelling.substr(0, dot), overload == "default" ? "" : overload});
  if (!found) throw Unsupported("this torch has no operator " + spelling);
  if (const auto why = refusal(found->schema())) {
    throw Unsupported("operator " + spelling + " is refused: " + *why);
  }
  return *found;
}

std::string_view base_name(const c10::OperatorHandle& op) {
  constexpr std::string_view kAten = "aten::";
  std::string_view name = op.schema().name();
  if (!name.starts_with(kAten)) return {};
  name.remove_prefix(kAten.size());
  if (name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_') name.remove_suffix(1);
  return name;
}

c10::TypePtr bare_type(const c10::Argument& argument) {
  const c10::TypePtr type = argument.real_type();
  const auto optional = type->cast<c10::OptionalType>();
  return optional ? optional->getElementType() : type;
}

torch::jit::Stack bind_arguments(const c10::FunctionSchema& schema, const Arguments& given,
                                 const Scope& scope) {
  const auto& arguments = schema.arguments();
  torch::jit::Stack stack;
  stack.reserve(arguments.size());
  std::size_t used = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::Argument& argument = arguments[i];
    const bool positional = i < given.args.size() && !argument.kwarg_only();
    const auto keyword =
        std::find_if(given.kwargs.begin(), given.kwargs.end(),
                     [&](const auto& each) { return each.first == argument.name(); });
    const bool named = keyword != given.kwargs.end();
    TORCH_CHECK_TYPE(!(positional && named), schema.name(), "() got argument '", argument.name(),
                     "' by position and by name");
    if (positional || named) {
      const Value& value = positional ? given.args[i] : keyword->second;
      stack.push_back(to_argument(value, argument.real_type(), argument.N(), scope));
      ++used;
    } else {
      TORCH_CHECK_TYPE(argument.default_value().has_value(), schema.name(),
                       "() is missing its argument '", argument.name(), "'");
      stack.push_back(*argument.default_value());
    }
  }
  TORCH_CHECK_TYPE(used == given.args.size() + given.kwargs.size(), schema.name(), "() takes ",
                   arguments.size(), " arguments and was given others");
  return stack;
}

std::vector<c10::IValue> call_operator(const c10::OperatorHandle& op, torch::jit::Stack stack) {
  op.callBoxed(stack);
  return stack;
}

}  // namespace lockstep::eager
