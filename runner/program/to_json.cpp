#include <charconv>
#include <cmath>

#include "program/program_json.h"

namespace lockstep {
namespace {

Json list(const std::vector<Value>& values) {
  Json json = Json::array();
  for (const Value& value : values) json.push_back(value_to_json(value));
  return json;
}

/// An object of one key.
Json tagged(std::string_view key, Json content) {
  Json json = Json::object();
  json[std::string(key)] = std::move(content);
  return json;
}

struct ValueWriter {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(bool value) const { return value; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(std::uint64_t value) const { return value; }
  Json operator()(Float value) const { return tagged("float", float_text(value.value)); }
  Json operator()(const Complex& value) const {
    return tagged("complex", {float_text(value.real.value), float_text(value.imaginary.value)});
  }
  Json operator()(const Ref& value) const { return tagged("ref", value.name); }
  Json operator()(const Enumeration& value) const {
    return tagged(name_of(value.kind), value.word);
  }
  Json operator()(const std::string& value) const { return tagged("str", value); }
  Json operator()(const Value::List& value) const { return list(value); }
};

struct ItemWriter {
  Json operator()(Ellipsis) const { return tagged("ellipsis", true); }
  Json operator()(NewAxis) const { return tagged("newaxis", true); }
  Json operator()(const Slice& slice) const {
    return tagged("slice", list({slice.start, slice.stop, slice.step}));
  }
  Json operator()(const Value& value) const { return value_to_json(value); }
};

Json index(const std::vector<IndexItem>& items) {
  Json json = Json::array();
  for (const IndexItem& item : items) json.push_back(std::visit(ItemWriter{}, item));
  return json;
}

Json steps_to_json(const std::vector<Step>& steps, const Json& literals);

/// Adds what a step does to its object, which has `let` already.
struct StepWriter {
  Json& json;
  const Json& literals;

  void operator()(const OpCall& call) const {
    json["op"] = call.op;
    add(call.arguments);
  }
  void operator()(const FunctionCall& call) const {
    json["call"] = call.function;
    add(call.arguments);
    if (!call.not_lowered.empty()) json["not_lowered"] = call.not_lowered;
  }
  void operator()(const LiteralTensor& tensor) const { json["tensor"] = literals.at(tensor.index); }
  void operator()(const GetItem& get) const {
    json["get"] = value_to_json(get.base);
    json["index"] = index(get.index);
  }
  void operator()(const SetItem& set) const {
    json["set"] = value_to_json(set.base);
    json["index"] = index(set.index);
    json["to"] = value_to_json(set.to);
  }
  void operator()(const ScalarCall& call) const {
    Json& expression = json["scalar"] = Json::array({call.name});
    for (const Value& operand : call.operands) expression.push_back(value_to_json(operand));
  }
  void operator()(const GradCall& grad) const {
    json["grad"] = {{"of", list(grad.of)},
                    {"wrt", list(grad.wrt)},
                    {"with", grad.with ? list(*grad.with) : Json()},
                    {"create_graph", grad.create_graph}};
  }
  void operator()(const WithBlock& block) const {
    json = {{"with", context_to_json(block.context)},
            {"steps", steps_to_json(block.steps, literals)}};
  }

  void operator()(const ApplyCall& call) const {
    json["apply"] = call.name;
    add(call.arguments);
    for (const SubProgram& program : call.programs) {
      json[program.role] = {{"inputs", program.inputs},
                            {"steps", steps_to_json(program.steps, literals)},
                            {"outputs", program.outputs}};
    }
  }

  void add(const Arguments& arguments) const {
    json["args"] = list(arguments.args);
    json["kwargs"] = Json::object();
    for (const auto& [name, value] : arguments.kwargs) json["kwargs"][name] = value_to_json(value);
  }
};

Json steps_to_json(const std::vector<Step>& steps, const Json& literals) {
  Json json = Json::array();
  for (const Step& step : steps) {
    Json names = Json::array();
    for (const auto& name : step.let) names.push_back(name ? Json(*name) : Json());
    Json entry = Json::object();
    entry["let"] = std::move(names);
    std::visit(StepWriter{entry, literals}, step.does);
    json.push_back(std::move(entry));
  }
  return json;
}

Json backward_to_json(const std::optional<Backward>& backward) {
  if (!backward) return nullptr;
  Json json = Json::object();
  json["of"] = backward->of;
  json["with"] = backward->with ? Json(*backward->with) : Json("ones");
  if (backward->retain_graph) json["retain_graph"] = true;
  if (backward->twice) json["twice"] = true;
  return json;
}

}  // namespace

std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  const auto [end, error] =
      std::to_chars(buffer, buffer + sizeof buffer, std::fabs(value), std::chars_format::hex);
  return (std::signbit(value) ? "-0x" : "0x") + std::string(buffer, end);
}

Json context_to_json(const Context& context) {
  Json json = Json::object();
  if (context.grad) json["grad"] = *context.grad;
  if (context.inference) json["inference"] = *context.inference;
  if (context.deterministic_algorithms)
    json["deterministic_algorithms"] = *context.deterministic_algorithms;
  if (const auto& autocast = context.autocast) {
    json["autocast"] = {{"device", autocast->device}, {"dtype", autocast->dtype}};
    if (!autocast->enabled) json["autocast"]["enabled"] = false;
  }
  if (context.default_dtype) json["default_dtype"] = *context.default_dtype;
  if (context.compiled) json["compiled"] = *context.compiled;
  if (context.thread) json["thread"] = true;
  return json;
}

Json value_to_json(const Value& value) { return std::visit(ValueWriter{}, value.is); }

Json program_to_json(const Program& program, const Json& literals) {
  Json json = Json::object();
  json["inputs"] = program.inputs;
  if (!program.constants.empty()) json["constants"] = program.constants;
  json["steps"] = steps_to_json(program.steps, literals);
  json["outputs"] = Json::array();
  for (const Value& output : program.outputs) {
    const auto* ref = std::get_if<Ref>(&output.is);
    json["outputs"].push_back(ref != nullptr ? Json(ref->name) : value_to_json(output));
  }
  json["context"] = context_to_json(program.context);
  json["backward"] = backward_to_json(program.backward);
  if (!program.carry.empty()) json["carry"] = Json::object();
  for (const auto& [input, from] : program.carry) json["carry"][input] = from;
  return json;
}

}  // namespace lockstep
