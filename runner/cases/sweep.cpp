#include "cases/sweep.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "base/launcher.h"
#include "base/text.h"
#include "cases/decode.h"
#include "cases/fit_argument.h"

namespace lockstep {
namespace {

/// Types that a file can give a value for: nothing else is required by an operator on tensors.
const std::vector<std::string> kGivenTypes = {
    "Tensor", "Tensor?", "Tensor[]", "Scalar", "Scalar?",  "int",        "int?",
    "int[]",  "int[]?",  "float",    "float?", "float[]",  "float[]?",   "bool",
    "bool?",  "bool[]",  "str",      "str?",   "Scalar[]", "ScalarType", "ScalarType?"};

/// A reference, or a list that has one.
bool refers(const Json& value) {
  return is_reference(value) ||
         (value.is_array() && std::any_of(value.begin(), value.end(), is_reference));
}

/// A given name of a parameter; else it is a type.
bool is_parameter(const std::string& key) {
  return std::find(kGivenTypes.begin(), kGivenTypes.end(), key) == kGivenTypes.end();
}

/// Whether an argument of that type can get the value: tensors are references, and nothing else is.
bool fits(const Json& value, const Argument& argument) {
  if (argument.is_tensor() || refers(value))
    return refers(value) == argument.is_tensor() || (value.is_null() && argument.type == "Tensor?");
  const bool list = argument.type.find("[]") != std::string::npos;
  if (list && argument.list_size == 0 && !value.is_array() && !value.is_null()) return false;
  std::string ignored;
  return fit_argument(value, argument.type, {}, &ignored).has_value();
}

/// What `given` has for an argument: by its name, or else, where it has no default, by its type.
const Json* given_value(const Sweep& sweep, const Argument& argument) {
  if (!sweep.given.is_object()) return nullptr;
  if (const auto named = sweep.given.find(argument.name);
      named != sweep.given.end() && is_parameter(argument.name) && fits(*named, argument)) {
    return &*named;
  }
  if (argument.has_default) return nullptr;
  const auto typed = sweep.given.find(argument.type);
  return typed == sweep.given.end() ? nullptr : &*typed;
}

/// Arguments that the sweep does not give and the overload needs; without tensors where these are
/// passed in the order of the inputs.
std::vector<const Argument*> lacking(const Sweep& sweep, const Overload& overload) {
  std::vector<const Argument*> result;
  for (const Argument& argument : overload.arguments) {
    if (argument.has_default || given_value(sweep, argument) != nullptr) continue;
    if (sweep.gives_tensors() || !argument.is_tensor()) result.push_back(&argument);
  }
  return result;
}

/// Whether the overload has the parameters that the rule asks for.
bool has_parameters(const Sweep& sweep, const Overload& overload) {
  return std::all_of(sweep.takes.begin(), sweep.takes.end(), [&](std::string_view wanted) {
    const bool not_wanted = wanted.starts_with('!');
    if (not_wanted) wanted.remove_prefix(1);
    const std::size_t blank = wanted.rfind(' ');
    const std::string_view name = wanted.substr(blank + 1);  // npos + 1 is 0
    const bool has = std::any_of(
        overload.arguments.begin(), overload.arguments.end(), [&](const Argument& argument) {
          return argument.name == name &&
                 (blank == std::string_view::npos || argument.type == wanted.substr(0, blank));
        });
    return has != not_wanted;
  });
}

/// Whether the sweep passes it as many tensors, or those that it gives.
bool tensors_fit(const Sweep& sweep, const Overload& overload) {
  if (!sweep.gives_tensors()) {
    return sweep.inputs.size() == overload.required_tensors &&
           std::all_of(
               overload.arguments.begin(), overload.arguments.end(), [](const Argument& argument) {
                 return argument.has_default || !argument.is_tensor() || argument.type == "Tensor";
               });
  }
  return std::all_of(overload.arguments.begin(), overload.arguments.end(),
                     [&](const Argument& argument) {
                       return !argument.is_tensor() || argument.has_default ||
                              given_value(sweep, argument) != nullptr;
                     });
}

/// Whether the overload has what the rule asks for, whatever it is called.
bool can_take(const Sweep& sweep, const Overload& overload) {
  return tensors_fit(sweep, overload) && has_parameters(sweep, overload);
}

/// Whether something is given that the overload takes.
bool takes_given(const Sweep& sweep, const Overload& overload) {
  return std::any_of(overload.arguments.begin(), overload.arguments.end(),
                     [&](const Argument& argument) {
                       return given_value(sweep, argument) != nullptr &&
                              (sweep.gives_tensors() || !argument.is_tensor());
                     });
}

/// Every overload with the tag, or every one.
template <class Visit>
void each_tagged(const Registry& registry, const std::string& tag, const Visit& visit) {
  for (const auto& [name, op] : registry.operators()) {
    for (const Overload& overload : op.overloads) {
      if (has_wanted_tag(overload, tag)) visit(op, overload);
    }
  }
}

/// Whether a list of globs has the very name.
bool names_in_full(const Sweep& sweep, const std::string& name) {
  return contains(sweep.names, name);
}

/// What `given` may hold: values of known types, by type or by the name of a parameter.
void decode_given(Reader& reader, const Node& given, Sweep& sweep) {
  if (!given->is_object() || given->empty()) {
    reader.mismatch(given,
                    "an object of values by type or parameter, such as {\"Scalar\": 2.5, \"dim\": "
                    "1}");
    return;
  }
  sweep.given = *given;
  for (const auto& [key, value] : given->items()) {
    const std::string pointer = child_pointer(given.pointer, key);
    if (is_parameter(key)) {
      // Whether there is such a parameter, the operators say.
      if (!valid_name(key)) {
        reader.error(pointer, fmt::format("found the unknown type `{}`", one_line(key, 60)),
                     reader.suggestion(key, kGivenTypes), true);
      }
      continue;
    }
    if (refers(value)) continue;
    std::string expected;
    if (!fit_argument(value, key, {}, &expected)) reader.mismatch({&value, pointer}, expected);
  }
}

void decode_rule(Reader& reader, const Node& operators, Sweep& sweep) {
  if (!reader.object(operators, {"tag", "names", "takes"})) return;
  if (operators->empty()) reader.mismatch(operators, "a rule, such as {\"tag\": \"pointwise\"}");
  if (const auto tag = reader.child(operators, "tag"))
    sweep.tag = reader.text(*tag, "a tag of torch's operators").value_or("");
  if (const auto names = reader.child(operators, "names"))
    sweep.names = reader.texts(*names, "a list of globs such as [\"*\", \"!lcm\"]");
  if (const auto takes = reader.child(operators, "takes"))
    sweep.takes = reader.texts(*takes, "a list of parameters such as [\"int dim\", \"!keepdim\"]");
}

void decode_calls_of(Reader& reader, const Node& calls, Sweep& sweep) {
  if (!reader.list(calls, "a list of calls, such as [[\"sum.dim_IntList\", \"%x\", [1]]]")) return;
  if (calls->empty()) reader.mismatch(calls, "at least one call");
  sweep.calls = *calls;
  for (std::size_t i = 0; i < calls->size(); ++i) {
    const Node call = reader.element(calls, i);
    if (!call->is_array() || call->empty() || !(*call)[0].is_string()) {
      reader.mismatch(call,
                      "a list: an operator and its arguments, such as [\"add.Tensor\", "
                      "\"%x\", \"%y\", {\"alpha\": 2}]");
    }
  }
}

/// The step of a call as a list has it.
Json step_of_call(const Json& call) {
  Json args = Json::array(), kwargs = Json::object();
  for (std::size_t i = 1; i < call.size(); ++i) {
    const bool last = i + 1 == call.size();
    if (last && call[i].is_object() && !call[i].contains("complex")) {
      kwargs = call[i];
    } else {
      args.push_back(call[i]);
    }
  }
  return {{"let", "y"}, {"op", call[0]}, {"args", args}, {"kwargs", kwargs}};
}

void note_references(const Json& value, std::set<std::string>& names) {
  if (is_reference(value)) {
    const std::string text = value.get<std::string>().substr(1);
    names.insert(text.substr(0, text.find('[')));
  } else if (value.is_structured()) {
    for (const Json& child : value) note_references(child, names);
  }
}

/// Adds an error for each key of `given` that is no type and no parameter of any operator.
void check_given(Reader& reader, const Sweep& sweep, const Registry& registry) {
  if (!sweep.given.is_object()) return;
  for (const auto& [key, value] : sweep.given.items()) {
    bool known = !is_parameter(key);
    each_tagged(registry, "", [&, &name = key](const Operator&, const Overload& overload) {
      for (const Argument& argument : overload.arguments) known = known || argument.name == name;
    });
    if (!known) {
      reader.error(child_pointer("/sweep/given", key),
                   fmt::format("found `{}`, which is no type and no parameter of an operator of "
                               "torch {}",
                               one_line(key, 60), registry.torch()),
                   reader.suggestion(key, kGivenTypes), true);
    }
  }
}

}  // namespace

bool has_wanted_tag(const Overload& overload, std::string_view tag) {
  if (tag.starts_with('!')) return !overload.has_tag(tag.substr(1));
  return tag.empty() || overload.has_tag(tag);
}

bool Sweep::gives_tensors() const {
  return given.is_object() && std::any_of(given.begin(), given.end(), refers);
}

std::set<std::string> referred_names(const Json& document) {
  std::set<std::string> names;
  note_references(document, names);
  return names;
}

std::string call_text(const Json& call) {
  const auto plain = [](const Json& value) {
    std::string text = plain_text(value);
    std::erase_if(text, [](char c) { return c == '%' || c == '"' || c == ' '; });
    return text;
  };
  const Json step = step_of_call(call);
  std::string text;
  for (const Json& value : step["args"]) text += "," + plain(value);
  for (const auto& [key, value] : step["kwargs"].items()) text += "," + key + "=" + plain(value);
  return fmt::format("{}({})", plain(call[0]), text.empty() ? "" : text.substr(1));
}

std::string unbound_reason(const Operator& op, const Overload& overload) {
  if (!op.name.starts_with("aten::")) return "no operator of aten";
  for (const Argument& argument : overload.arguments) {
    if (argument.mutates)
      return argument.kwarg_only ? fmt::format("writes to {}", argument.name)
                                 : "writes to its argument";
  }
  if (op.name.starts_with("aten::_") && !overload.has_tag("core")) return "internal: begins with _";
  if (std::string why = refusal(op, overload); !why.empty()) return why;
  for (const Argument& argument : overload.arguments) {
    if (argument.type.starts_with("Generator")) return "takes a generator";
  }
  // Its random numbers would depend on other draws of its graph.
  if (overload.has_tag("nondeterministic_seeded")) return "draws random numbers";
  const bool returns_tensors =
      !overload.results.empty() &&
      std::all_of(overload.results.begin(), overload.results.end(), [](ValueKind kind) {
        return kind == ValueKind::tensor || kind == ValueKind::tensor_list;
      });
  return returns_tensors ? "" : "returns no tensor, or not only tensors";
}

std::optional<Sweep> decode_sweep(Reader& reader, const Node& root) {
  const int before = reader.failures();
  const auto node = reader.child(root, "sweep");
  if (!reader.object(*node, {"operators", "given", "calls"})) return std::nullopt;
  Sweep sweep;
  const auto operators = reader.child(*node, "operators");
  const auto calls = reader.child(*node, "calls");
  if (!operators && !calls) {
    reader.required(*node, "operators", "such as {\"tag\": \"pointwise\"}");
  } else if (calls) {
    for (const std::string_view key : {"operators", "given"}) {
      if (const auto beside = reader.child(*node, key))
        reader.error(beside->pointer,
                     fmt::format("found `{}` beside `calls`, which say what is called", key),
                     "remove one of them", true);
    }
    decode_calls_of(reader, *calls, sweep);
  } else {
    // The file has a rule; `substitute` puts the operator that was chosen into its place.
    const Node file{&reader.file().root, ""};
    const auto written = reader.child(reader.child(file, "sweep").value_or(file), "operators");
    if ((*operators)->is_string() && written && (*written)->is_object()) {
      sweep.op = (*operators)->get<std::string>();
    } else {
      decode_rule(reader, *operators, sweep);
    }
    if (const auto given = reader.child(*node, "given")) decode_given(reader, *given, sweep);
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
  const std::string tag = sweep.tag.substr(sweep.tag.starts_with('!') ? 1 : 0);
  if (!tag.empty() && !tags.contains(tag)) {
    reader.error("/sweep/operators/tag",
                 fmt::format("found the tag `{}`, which no operator of torch {} has",
                             one_line(tag, 60), registry.torch()),
                 reader.suggestion(tag, {tags.begin(), tags.end()}));
  } else if (swept_operators(sweep, registry).empty()) {
    check_given(reader, sweep, registry);
    if (reader.failed()) return;
    const std::string tagged =
        sweep.tag.empty() ? "that the rule means" : fmt::format("with the tag `{}`", sweep.tag);
    reader.error(
        "/sweep",
        fmt::format("found a sweep that takes no operator of torch {}: none {} {} and {}",
                    registry.torch(), tagged,
                    sweep.gives_tensors() ? "takes the tensors that `given` has"
                                          : fmt::format("takes {} tensor{}", sweep.inputs.size(),
                                                        sweep.inputs.size() == 1 ? "" : "s"),
                    sweep.given.is_null() ? "needs nothing given"
                                          : "needs what `given` has, and nothing else"),
        typed("list --unswept") + " says why each is not taken", true);
  }
}

std::string unswept_reason(std::span<const Sweep> sweeps, const Operator& op,
                           const Overload& overload) {
  const std::string name = short_name(op, overload);
  const std::string full = op.name + "." + overload.name;
  const auto calls_it = [&](const Json& call) {
    const std::string called = call[0].get<std::string>();
    return called == name || "aten::" + called == full;
  };
  std::vector<const Sweep*> fitting;
  bool in_full = false;
  for (const Sweep& sweep : sweeps) {
    if (sweep.calls.is_array()) {
      if (std::any_of(sweep.calls.begin(), sweep.calls.end(), calls_it)) return "";
      continue;
    }
    if (has_wanted_tag(overload, sweep.tag)) fitting.push_back(&sweep);
    in_full = in_full || names_in_full(sweep, name);
  }
  if (std::string why = unbound_reason(op, overload); !why.empty() && !in_full) return why;
  std::erase_if(fitting, [&](const Sweep* sweep) { return !can_take(*sweep, overload); });
  const std::size_t count = overload.required_tensors;
  if (fitting.empty()) {
    return fmt::format("{} tensor{}: no sweep has so many inputs, or those of its names", count,
                       count == 1 ? "" : "s");
  }
  std::erase_if(fitting, [&](const Sweep* sweep) { return !globs_take(sweep->names, name); });
  if (fitting.empty()) return "left out by the `names` of every sweep that could take it";
  std::vector<const Argument*> least = lacking(*fitting.front(), overload);
  bool taken = false;
  for (const Sweep* sweep : fitting) {
    const std::vector<const Argument*> lacks = lacking(*sweep, overload);
    taken = taken || (lacks.empty() && sweep->given.is_null() != takes_given(*sweep, overload));
    if (lacks.size() < least.size()) least = lacks;
  }
  if (taken) return "";
  if (least.empty())
    return "needs nothing given, and every sweep of as many tensors gives something";
  const bool each_given = std::all_of(least.begin(), least.end(), [&](const Argument* argument) {
    return std::any_of(fitting.begin(), fitting.end(), [&](const Sweep* sweep) {
      return given_value(*sweep, *argument) != nullptr;
    });
  });
  if (each_given) return "needs several things given, which no single sweep gives";
  return fmt::format("needs `{} {}`, which no sweep of {} tensor{} gives", least.front()->type,
                     least.front()->name, count, count == 1 ? "" : "s");
}

std::vector<std::string> swept_operators(const Sweep& sweep, const Registry& registry) {
  std::vector<std::string> names;
  each_tagged(registry, sweep.tag, [&](const Operator& op, const Overload& overload) {
    // Most cannot be taken, and the reasons of those nobody reads. What writes to an argument no
    // rule takes that does not name it in full.
    if (!sweep.calls.is_array() &&
        ((overload.mutates() && !names_in_full(sweep, short_name(op, overload))) ||
         !can_take(sweep, overload)))
      return;
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

Json swept_program(const Sweep& sweep, const Overload* overload, const Json& around) {
  Json results = Json::array({"y"});
  Json step = {{"let", "y"}, {"op", "add"}, {"args", Json::array()}, {"kwargs", Json::object()}};
  if (sweep.calls.is_array()) {
    step = step_of_call(sweep.calls[0]);
    const std::string called = step["op"].get<std::string>();
    if (overload != nullptr && called.find('.') == std::string::npos)
      step["op"] = called + ".default";
  } else if (overload == nullptr) {
    std::set<std::string> taken = referred_names(sweep.given);  // results of steps, too
    taken.insert(sweep.inputs.begin(), sweep.inputs.end());
    for (const std::string& name : taken) step["args"].push_back("%" + name);
  } else {
    bool positional = true;
    std::size_t input = 0;
    for (const Argument& argument : overload->arguments) {
      const Json* given = given_value(sweep, argument);
      const bool passed = given != nullptr || !argument.has_default;
      positional = positional && passed && !argument.kwarg_only;
      if (!passed) continue;
      Json value = given != nullptr ? *given : Json("%" + sweep.inputs.at(input++));
      if (positional) {
        step["args"].push_back(std::move(value));
      } else {
        step["kwargs"][argument.name] = std::move(value);
      }
    }
    // The overload written out, so that the call is of exactly this one.
    step["op"] = sweep.op.find('.') == std::string::npos ? sweep.op + ".default" : sweep.op;
  }
  if (overload != nullptr) {
    for (std::size_t i = 1; i < overload->results.size(); ++i)
      results.push_back(fmt::format("y{}", i));
  }
  const bool several = results.size() > 1;
  if (around.is_null()) {
    if (several) step["let"] = results;
    return {{"steps", Json::array({std::move(step)})}, {"outputs", std::move(results)}};
  }
  Json program = around;
  for (Json& each : program["steps"]) {
    if (!each.is_object() || each.value("op", Json()) != "$op") continue;
    // Of several results the file's steps go on with the first.
    Json let = each.value("let", Json("y"));
    if (several) {
      for (std::size_t i = 0; i < results.size(); ++i) results[i] = i == 0 ? let : Json();
      let = results;
    }
    each = step;
    each["let"] = let;
  }
  return program;
}

bool is_swept_result(std::string_view name) {
  return name.starts_with('y') && name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

}  // namespace lockstep
