#include "cases/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "cases/fit_argument.h"

namespace lockstep {
namespace {

/// Types that a file can give a value for: nothing else is required by an operator on numbers.
const std::vector<std::string> kGivenTypes = {"Scalar", "Scalar?", "int",   "int?", "float",
                                              "float?", "bool",    "bool?", "str",  "str?"};

bool is_tensor(const Argument& argument) { return argument.type.starts_with("Tensor"); }

/// Arguments without a default that are no tensors.
std::vector<const Argument*> needs(const Overload& overload) {
  std::vector<const Argument*> result;
  for (const Argument& argument : overload.arguments) {
    if (!argument.has_default && !is_tensor(argument)) result.push_back(&argument);
  }
  return result;
}

std::size_t tensors(const Overload& overload) {
  return static_cast<std::size_t>(std::count_if(
      overload.arguments.begin(), overload.arguments.end(),
      [](const Argument& argument) { return !argument.has_default && is_tensor(argument); }));
}

/// Why no sweep can take the overload, whatever its file says, or empty.
std::string exclusion(const Operator& op, const Overload& overload) {
  if (!op.name.starts_with("aten::")) return "no operator of aten";
  for (const Argument& argument : overload.arguments) {
    if (argument.mutates)
      return argument.kwarg_only ? fmt::format("writes to {}", argument.name)
                                 : "writes to its argument";
  }
  if (op.name.starts_with("aten::_")) return "internal: begins with _";
  if (std::string why = refusal(op, overload); !why.empty()) return why;
  for (const Argument& argument : overload.arguments) {
    if (argument.type.starts_with("Generator")) return "takes a generator";
    if (!argument.has_default && is_tensor(argument) && argument.type != "Tensor")
      return fmt::format("needs `{} {}`, and a sweep passes plain tensors", argument.type,
                         argument.name);
  }
  // What it draws would depend on what else its graph draws.
  if (overload.has_tag("nondeterministic_seeded")) return "draws random numbers";
  const bool returns_tensors =
      !overload.results.empty() &&
      std::all_of(overload.results.begin(), overload.results.end(),
                  [](ValueKind kind) { return kind == ValueKind::tensor; });
  return returns_tensors ? "" : "returns no tensor, or not only tensors";
}

/// Every overload with the tag.
template <class Visit>
void each_tagged(const Registry& registry, const std::string& tag, const Visit& visit) {
  for (const auto& [name, op] : registry.operators()) {
    for (const Overload& overload : op.overloads) {
      if (overload.has_tag(tag)) visit(op, overload);
    }
  }
}

}  // namespace

std::optional<Sweep> decode_sweep(Reader& reader, const Node& root) {
  const int before = reader.failures();
  const auto node = reader.child(root, "sweep");
  if (!reader.object(*node, {"operators", "given"})) return std::nullopt;
  Sweep sweep;
  if (const auto operators =
          reader.required(*node, "operators", "such as {\"tag\": \"pointwise\"}")) {
    // The file has a rule; `substitute` puts the operator that was chosen into its place.
    const Node file{&reader.file().root, ""};
    const auto written = reader.child(reader.child(file, "sweep").value_or(file), "operators");
    if ((*operators)->is_string() && written && (*written)->is_object()) {
      sweep.op = (*operators)->get<std::string>();
    } else if (reader.object(*operators, {"tag", "names"})) {
      if (const auto tag = reader.required(*operators, "tag", "a tag of torch's operators"))
        sweep.tag = reader.text(*tag, "a tag of torch's operators").value_or("");
      if (const auto names = reader.child(*operators, "names"))
        sweep.names = reader.texts(*names, "a list of globs such as [\"*\", \"!lcm\"]");
    }
  }
  if (const auto given = reader.child(*node, "given")) {
    if (!(*given)->is_object() || (*given)->empty()) {
      reader.mismatch(*given, "an object of values by type, such as {\"Scalar\": 2.5}");
    } else {
      sweep.given = **given;
      for (const auto& [type, value] : (*given)->items()) {
        const std::string pointer = child_pointer(given->pointer, type);
        if (std::find(kGivenTypes.begin(), kGivenTypes.end(), type) == kGivenTypes.end()) {
          reader.error(pointer, fmt::format("found the unknown type `{}`", one_line(type, 60)),
                       reader.suggestion(type, kGivenTypes), true);
          continue;
        }
        std::string expected;
        if (!fit_argument(value, type, {}, &expected)) reader.mismatch({&value, pointer}, expected);
      }
    }
  }
  const auto inputs = reader.required(root, "inputs", "the tensors that operators take");
  if (inputs && (*inputs)->is_object()) {
    if ((*inputs)->empty()) reader.mismatch(*inputs, "at least one tensor");
    for (const auto& [name, value] : (*inputs)->items()) {
      sweep.inputs.push_back(name);
      if (value.is_object() &&
          (value.contains("int") || value.contains("float") || value.contains("bool"))) {
        reader.error(child_pointer(inputs->pointer, name),
                     fmt::format("found the number `{}`, expected a tensor", one_line(name, 60)),
                     "numbers that operators need are in `given` of `sweep`", true);
      }
    }
  }
  return reader.failures() == before ? std::optional(std::move(sweep)) : std::nullopt;
}

void check_sweep(Reader& reader, const Sweep& sweep, const Registry& registry) {
  std::set<std::string> tags;
  for (const auto& [name, op] : registry.operators()) {
    for (const Overload& overload : op.overloads)
      tags.insert(overload.tags.begin(), overload.tags.end());
  }
  if (!tags.contains(sweep.tag)) {
    reader.error("/sweep/operators/tag",
                 fmt::format("found the tag `{}`, which no operator of torch {} has",
                             one_line(sweep.tag, 60), registry.torch()),
                 reader.suggestion(sweep.tag, {tags.begin(), tags.end()}));
  } else if (swept_operators(sweep, registry).empty()) {
    reader.error("/sweep",
                 fmt::format("found a sweep that takes no operator of torch {}: none with the tag "
                             "`{}` takes {} tensor{} and {}",
                             registry.torch(), sweep.tag, sweep.inputs.size(),
                             sweep.inputs.size() == 1 ? "" : "s",
                             sweep.given.is_null() ? "needs nothing given"
                                                   : "needs what `given` has, and nothing else"),
                 "`ci/lockstep list --unswept` says why each is not taken", true);
  }
}

std::string unswept_reason(std::span<const Sweep> sweeps, const Operator& op,
                           const Overload& overload) {
  if (std::string why = exclusion(op, overload); !why.empty()) return why;
  const std::size_t count = tensors(overload);
  const std::vector<const Argument*> needed = needs(overload);
  std::vector<const Sweep*> fitting;
  for (const Sweep& sweep : sweeps) {
    if (sweep.inputs.size() == count && overload.has_tag(sweep.tag)) fitting.push_back(&sweep);
  }
  if (fitting.empty()) {
    return fmt::format("{} tensor{}: no sweep has so many inputs", count, count == 1 ? "" : "s");
  }
  std::erase_if(fitting, [&](const Sweep* sweep) {
    return !globs_take(sweep->names, short_name(op, overload));
  });
  if (fitting.empty()) return "left out by the `names` of every sweep that could take it";
  for (const Argument* argument : needed) {
    if (std::none_of(fitting.begin(), fitting.end(),
                     [&](const Sweep* sweep) { return sweep->given.contains(argument->type); })) {
      return fmt::format("needs `{} {}`, which no sweep of {} tensor{} gives", argument->type,
                         argument->name, count, count == 1 ? "" : "s");
    }
  }
  const bool taken = std::any_of(fitting.begin(), fitting.end(), [&](const Sweep* sweep) {
    return sweep->given.is_null() == needed.empty() &&
           std::all_of(needed.begin(), needed.end(), [&](const Argument* argument) {
             return sweep->given.contains(argument->type);
           });
  });
  if (taken) return "";
  return needed.empty() ? "needs nothing given, and every sweep of as many tensors gives something"
                        : "needs several things given, which no single sweep gives";
}

std::vector<std::string> swept_operators(const Sweep& sweep, const Registry& registry) {
  std::vector<std::string> names;
  each_tagged(registry, sweep.tag, [&](const Operator& op, const Overload& overload) {
    if (unswept_reason({&sweep, 1}, op, overload).empty())
      names.push_back(short_name(op, overload));
  });
  std::sort(names.begin(), names.end());
  return names;
}

std::string short_name(const Operator& op, const Overload& overload) {
  const std::string base = op.name.starts_with("aten::") ? op.name.substr(6) : op.name;
  return overload.name == "default" ? base : base + "." + overload.name;
}

Json swept_program(const Sweep& sweep, const Overload* overload) {
  Json args = Json::array(), kwargs = Json::object(), results = Json::array();
  std::size_t input = 0;
  if (overload == nullptr) {
    for (const std::string& name : sweep.inputs) args.push_back("%" + name);
    results.push_back("y");
  } else {
    bool positional = true;
    for (const Argument& argument : overload->arguments) {
      positional = positional && !argument.has_default && !argument.kwarg_only;
      if (argument.has_default) continue;
      Json value = is_tensor(argument) ? Json("%" + sweep.inputs.at(input++))
                                       : sweep.given.at(argument.type);
      if (positional) {
        args.push_back(std::move(value));
      } else {
        kwargs[argument.name] = std::move(value);
      }
    }
    for (std::size_t i = 0; i < overload->results.size(); ++i)
      results.push_back(i == 0 ? "y" : fmt::format("y{}", i));
  }
  // The overload written out, so that the call is of exactly this one.
  const std::string op = overload == nullptr                       ? "add"
                         : sweep.op.find('.') == std::string::npos ? sweep.op + ".default"
                                                                   : sweep.op;
  Json step = {{"let", results.size() == 1 ? results[0] : results},
               {"op", op},
               {"args", args},
               {"kwargs", kwargs}};
  return {{"steps", Json::array({std::move(step)})}, {"outputs", std::move(results)}};
}

bool is_swept_result(std::string_view name) {
  return name.starts_with('y') && name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace lockstep
