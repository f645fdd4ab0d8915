#include "cases/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/text.h"
#include "cases/fit_argument.h"

namespace lockstep {
namespace {

/// How one overload takes the arguments of a step.
struct Attempt {
  const Overload* overload = nullptr;
  Arguments arguments;
  int defaults = 0;
  int wrapped = 0;    ///< numbers given for tensors
  int scalars = 0;    ///< arguments given for a Scalar
  std::string fault;  ///< empty: it fits
  std::string pointer;
  std::string hint;
};

/// int[N] takes one int for all; a list without a length does not.
bool one_for_many(const Argument& argument, const Value& fitted) {
  const bool numbers = argument.type.starts_with("int[") || argument.type.starts_with("float[");
  return numbers && argument.list_size == 0 && !std::holds_alternative<Value::List>(fitted.is) &&
         !fitted.is_none();
}

Attempt attempt(const Overload& overload, const std::optional<Node>& args,
                const std::optional<Node>& kwargs, const Reader& reader, const Scope& scope) {
  Attempt result;
  result.overload = &overload;
  std::vector<bool> given(overload.arguments.size(), false);
  const auto take = [&](std::size_t index, const Node& node, bool positional) {
    const Argument& argument = overload.arguments[index];
    std::string why;
    auto fitted = fit_argument(*node, argument.type, scope, &why);
    if (fitted && one_for_many(argument, *fitted)) {
      fitted.reset();
      why = "a list";
    }
    if (!fitted) {
      if (result.fault.empty()) {
        result.fault = fmt::format("found {} for the argument `{}` of type {}, expected {}",
                                   describe_json(*node), argument.name, argument.type, why);
        result.pointer = node.pointer;
      }
      return;
    }
    if (argument.is_tensor() && !argument.type.ends_with("[]") && !node->is_string() &&
        !node->is_null())
      ++result.wrapped;
    if (argument.type == "Scalar" || argument.type == "Scalar?") ++result.scalars;
    given[index] = true;
    if (positional) {
      result.arguments.args.push_back(std::move(*fitted));
    } else {
      result.arguments.kwargs.emplace_back(argument.name, std::move(*fitted));
    }
  };
  if (args) {
    std::size_t index = 0;
    for (std::size_t i = 0; i < (*args)->size(); ++i, ++index) {
      if (index >= overload.arguments.size() || overload.arguments[index].kwarg_only) {
        if (result.fault.empty()) {
          const bool named = index < overload.arguments.size();
          result.fault = fmt::format("found {} positional arguments, expected at most {}",
                                     (*args)->size(), index);
          result.pointer = args->pointer;
          if (named)
            result.hint = fmt::format("`{}` goes into `kwargs`", overload.arguments[index].name);
        }
        break;
      }
      take(index, reader.element(*args, i), true);
    }
  }
  if (kwargs) {
    std::vector<std::string> names;
    for (const Argument& argument : overload.arguments) names.push_back(argument.name);
    for (const auto& [key, value] : (*kwargs)->items()) {
      const std::size_t index =
          static_cast<std::size_t>(std::find(names.begin(), names.end(), key) - names.begin());
      const Node node{&value, child_pointer(kwargs->pointer, key)};
      if (index == names.size() || given[index]) {
        if (result.fault.empty()) {
          result.fault = index == names.size()
                             ? fmt::format("found the unknown argument `{}`", one_line(key, 60))
                             : fmt::format("found the argument `{}` for the second time", key);
          result.pointer = node.pointer;
          result.hint = index == names.size() ? suggestion(key, names) : "";
        }
        continue;
      }
      take(index, node, false);
    }
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i]) continue;
    const Argument& argument = overload.arguments[i];
    ++result.defaults;
    if (!argument.has_default && result.fault.empty()) {
      result.fault =
          fmt::format("the argument `{}` of type {} is missing", argument.name, argument.type);
    }
  }
  return result;
}

std::string signature(const Operator& op, const Overload& overload) {
  std::string text =
      (op.name.starts_with("aten::") ? op.name.substr(6) : op.name) + "." + overload.name + "(";
  bool keyword = false;
  for (std::size_t i = 0; i < overload.arguments.size(); ++i) {
    const Argument& argument = overload.arguments[i];
    if (i > 0) text += ", ";
    if (argument.kwarg_only && !keyword) text += "*, ";
    keyword = keyword || argument.kwarg_only;
    text += argument.type + " " + argument.name + (argument.has_default ? "=..." : "");
  }
  return text + ")";
}

/// The variants of an operator that write into a tensor of the caller's, which nobody means who
/// does not name them.
bool writes_to_out(const Overload& overload) {
  return std::any_of(
      overload.arguments.begin(), overload.arguments.end(),
      [](const Argument& argument) { return argument.mutates && argument.kwarg_only; });
}

int tensor_arguments(const Overload& overload) {
  return static_cast<int>(
      std::count_if(overload.arguments.begin(), overload.arguments.end(),
                    [](const Argument& argument) { return argument.is_tensor(); }));
}

void report_no_fit(Reader& reader, const Node& name, const Operator& op,
                   const std::vector<Attempt>& attempts) {
  if (attempts.size() == 1) {
    const Attempt& only = attempts.front();
    const std::string form = signature(op, *only.overload);
    reader.error(only.pointer.empty() ? name.pointer : only.pointer, only.fault,
                 only.hint.empty() ? form : only.hint + "; " + form);
    return;
  }
  std::string hint = "overloads:";
  for (const Attempt& each : attempts)
    hint += "\n      " + signature(op, *each.overload) + "\n        " + each.fault;
  reader.error(name.pointer, fmt::format("no overload of `{}` takes these arguments", op.name),
               hint);
}

/// Puts first what torch, too, would take.  Whether nothing else is as good.
bool best_first(std::vector<const Attempt*>& fitting) {
  // A number stands for a tensor only if no overload takes it as a number: max(x, 0).
  if (std::any_of(fitting.begin(), fitting.end(),
                  [](const Attempt* each) { return each->wrapped == 0 && each->scalars == 0; })) {
    std::erase_if(fitting, [](const Attempt* each) { return each->wrapped > 0; });
  }
  const auto rank = [](const Attempt* each) {
    // Python wraps numbers for the overloads called so: x + 2 is add.Tensor.
    const std::string& called = each->overload->name;
    const int wrapped = called == "Tensor" || called == "Tensor_mode" ? 0 : each->wrapped;
    return std::tuple(each->defaults, wrapped, each->overload->name != "default",
                      -tensor_arguments(*each->overload));
  };
  std::stable_sort(fitting.begin(), fitting.end(),
                   [&](const Attempt* a, const Attempt* b) { return rank(a) < rank(b); });
  return fitting.size() == 1 || rank(fitting[0]) != rank(fitting[1]);
}

/// Operators of other namespaces than torch's own.
constexpr std::string_view kHowToBring =
    "--library FILE brings the operators of a shared object, --module NAME or FILE.py those of a "
    "Python module";

/// What becomes of a call of an operator that nobody has.
std::optional<Resolution> unknown(Reader& reader, const Node& name, const std::string& base,
                                  const DecodeContext& context) {
  const bool torchs = base.find("::") == std::string::npos || base.starts_with("aten::");
  const PythonOperators* const python = torchs ? nullptr : context.python;
  const bool told = python == nullptr || python->failure().empty();
  if (told && context.missing_is_unsupported) {
    const std::string how = torchs ? std::string() : fmt::format(" ({})", kHowToBring);
    return Resolution{.lacking = fmt::format("the operator {}{}", base, how)};
  }
  std::vector<std::string> known = context.registry->names();
  if (python != nullptr) known.insert(known.end(), python->names().begin(), python->names().end());
  std::string hint = reader.suggestion(base, known);
  if (hint.empty() && !torchs) hint = kHowToBring;
  if (!told) hint = "which operators there are Python cannot say: " + one_line(python->failure());
  reader.error(name.pointer, fmt::format("found the unknown operator `{}`", one_line(base, 80)),
               std::move(hint));
  return std::nullopt;
}

}  // namespace

std::optional<Resolution> resolve(Reader& reader, const Node& name, const std::optional<Node>& args,
                                  const std::optional<Node>& kwargs, const DecodeContext& context,
                                  Scope& scope) {
  const Registry& registry = *context.registry;
  const std::string& text = name->get_ref<const std::string&>();
  const std::size_t dot = text.rfind('.');
  const std::string base = text.substr(0, dot);
  const Operator* op = registry.find(base);
  if (op == nullptr) return unknown(reader, name, base, context);
  std::vector<const Overload*> candidates;
  std::vector<std::string> overload_names;
  for (const Overload& overload : op->overloads) {
    overload_names.push_back(overload.name);
    const bool meant = dot == std::string::npos
                           ? !writes_to_out(overload) && refusal(*op, overload).empty()
                           : overload.name == text.substr(dot + 1);
    if (meant) candidates.push_back(&overload);
  }
  if (candidates.empty() && dot != std::string::npos) {
    if (context.missing_is_unsupported)
      return Resolution{.lacking = fmt::format("the overload {}", text)};
    reader.error(name.pointer,
                 fmt::format("found the unknown overload `{}` of `{}`",
                             one_line(text.substr(dot + 1), 60), op->name),
                 reader.suggestion(text.substr(dot + 1), overload_names));
    return std::nullopt;
  }
  if (candidates.empty()) {
    for (const Overload& overload : op->overloads) candidates.push_back(&overload);
  }
  const auto refused = [&](const Overload& overload) {
    const std::string why = refusal(*op, overload);
    if (!why.empty())
      reader.error(name.pointer, fmt::format("`{}.{}` is refused in case files: {}", op->name,
                                             overload.name, why));
    return !why.empty();
  };
  if (candidates.size() == 1 && refused(*candidates.front())) return std::nullopt;
  std::vector<Attempt> attempts;
  std::vector<const Attempt*> fitting;
  for (const Overload* overload : candidates)
    attempts.push_back(attempt(*overload, args, kwargs, reader, scope));
  for (const Attempt& each : attempts) {
    if (each.fault.empty()) fitting.push_back(&each);
  }
  if (fitting.empty()) {
    report_no_fit(reader, name, *op, attempts);
    return std::nullopt;
  }
  if (!best_first(fitting)) {
    std::string hint = "write one of:";
    for (const Attempt* each : fitting) hint += "\n      " + signature(*op, *each->overload);
    reader.error(name.pointer, fmt::format("`{}` is ambiguous with these arguments", text), hint);
    return std::nullopt;
  }
  const Attempt& best = *fitting.front();
  if (refused(*best.overload)) return std::nullopt;
  return Resolution{op, best.overload, best.arguments, ""};
}

}  // namespace lockstep
