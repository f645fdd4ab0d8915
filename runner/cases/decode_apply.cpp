#include <fmt/format.h>

#include <functional>

#include "base/text.h"
#include "cases/decode.h"
#include "program/higher_order.h"

namespace lockstep {
namespace {

/// Names, of which `take` has what to do with each one.
std::vector<std::string> names_in(
    Reader& reader, const Node& node,
    const std::function<void(const std::string&, const Node&)>& take) {
  std::vector<std::string> names;
  if (!reader.list(node, "a list of names")) return names;
  for (std::size_t i = 0; i < node->size(); ++i) {
    const Node element = reader.element(node, i);
    const auto name = reader.text(element, "a name");
    if (!name) continue;
    take(*name, element);
    names.push_back(*name);
  }
  return names;
}

/// Its inputs, which are known in it alone; nobody has to use one that its operator hands over.
std::vector<std::string> sub_inputs(Reader& reader, const Node& node, Scope& scope) {
  return names_in(reader, node, [&](const std::string& name, const Node& element) {
    if (!valid_name(name)) {
      reader.mismatch(element, "a name: letters, digits and _, not beginning with a digit");
    } else if (scope.find(name) != nullptr) {
      reader.error(element.pointer, fmt::format("found the name `{}` for the second time", name),
                   "a sub-program sees what is named outside of it: give its input another name");
    } else {
      scope.names.emplace_back(name, Scope::Name{ValueKind::unknown, element.pointer, true});
    }
  });
}

std::vector<std::string> sub_outputs(Reader& reader, const Node& node, Scope& scope) {
  return names_in(reader, node, [&](const std::string& name, const Node& element) {
    if (Scope::Name* known = scope.find(name)) {
      known->used = true;
      return;
    }
    reader.error(element.pointer,
                 fmt::format("found `{}`, which no input or step defines", one_line(name, 60)),
                 reader.suggestion(name, scope.known()));
  });
}

SubProgram sub_program_of(Reader& reader, const Node& node, std::string_view role,
                          const DecodeContext& context, Scope& scope, ProgramParts& parts) {
  SubProgram program{std::string(role), {}, {}, {}};
  if (!reader.object(node, {"inputs", "steps", "outputs"})) return program;
  const std::size_t outside = scope.names.size();
  const int failures = reader.failures();
  if (const auto inputs = reader.required(node, "inputs", "names of what it is given"))
    program.inputs = sub_inputs(reader, *inputs, scope);
  std::vector<Step> outer = std::exchange(parts.steps, {});
  if (const auto steps = reader.required(node, "steps", "what it does"))
    decode_steps(reader, *steps, context, scope, parts);
  program.steps = std::exchange(parts.steps, std::move(outer));
  if (const auto outputs = reader.required(node, "outputs", "names of what it returns"))
    program.outputs = sub_outputs(reader, *outputs, scope);
  if (reader.failures() == failures) check_used(reader, scope, outside);
  scope.names.resize(outside);
  return program;
}

}  // namespace

void check_used(Reader& reader, const Scope& scope, std::size_t from) {
  for (std::size_t i = from; i < scope.names.size(); ++i) {
    const auto& [name, known] = scope.names[i];
    if (known.used) continue;
    reader.error(
        known.pointer, fmt::format("`{}` is used by no step and is no output", name),
        "remove it, or make it an output; write null in `let` for a result that is not needed");
  }
}

std::optional<ApplyCall> decode_apply(Reader& reader, const Node& step, Arguments arguments,
                                      const DecodeContext& context, Scope& scope,
                                      ProgramParts& parts) {
  reader.object(step, {"let", "apply", "args", "kwargs", "do", "else", "while", "source"});
  std::vector<std::string> known;
  for (const HigherOrder& each : higher_order()) known.emplace_back(each.name);
  const auto name =
      reader.word(*reader.child(step, "apply"), known, "an operator that takes sub-programs");
  if (!name) return std::nullopt;
  if (scope.depth == kMostSubPrograms) {
    reader.error(step.pointer,
                 fmt::format("found more than {} sub-programs in one another", kMostSubPrograms));
    return std::nullopt;
  }
  const int failures = reader.failures();
  ApplyCall call{*name, std::move(arguments), {}};
  ++scope.depth;
  for (const std::string_view role : {"while", "do", "else"}) {
    if (const auto node = reader.child(step, role))
      call.programs.push_back(sub_program_of(reader, *node, role, context, scope, parts));
  }
  --scope.depth;
  if (reader.failures() > failures) return std::nullopt;
  if (const auto fault = fault_of(call)) {
    const std::string pointer = step.pointer + "/" + fault->key;
    reader.error(
        step->contains(fault->key.substr(0, fault->key.find('/'))) ? pointer : step.pointer,
        fault->message);
    return std::nullopt;
  }
  const std::string op = "higher_order::" + *name;
  if (!contains(parts.operators, op)) parts.operators.push_back(op);
  return call;
}

}  // namespace lockstep
