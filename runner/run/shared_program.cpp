#include "run/shared_program.h"

#include <fmt/format.h>

#include <string>

namespace lockstep {
namespace {

std::string prefix_of(std::size_t member) { return fmt::format("m{}_", member); }

/// Renames what refers to names, and moves what refers to storages, wherever it is in a value or a
/// step.
void move_in(Json& json, const std::string& prefix, std::size_t storages) {
  if (json.is_array()) {
    for (Json& item : json) move_in(item, prefix, storages);
  } else if (json.is_object()) {
    for (auto& [key, value] : json.items()) {
      if (key == "ref") {
        value = prefix + value.get<std::string>();
      } else if (key == "storage") {
        value = value.get<std::size_t>() + storages;
      } else if (key == "let") {
        for (Json& name : value) {
          if (name.is_string()) name = prefix + name.get<std::string>();
        }
      } else {
        move_in(value, prefix, storages);
      }
    }
  }
}

void append_names(Json& to, const Json& names, const std::string& prefix) {
  for (const Json& name : names) to.push_back(prefix + name.get<std::string>());
}

NamedValues own_values(const NamedValues& values, const std::string& prefix) {
  NamedValues own;
  for (const auto& [name, value] : values) {
    if (!name.starts_with(prefix)) continue;
    own.emplace_back(name.substr(prefix.size()), value);
    if (auto* tensor = std::get_if<TensorView>(&own.back().second); tensor != nullptr && tensor->is)
      tensor->is =
          tensor->is->starts_with(prefix) ? tensor->is->substr(prefix.size()) : *tensor->is;
  }
  return own;
}

}  // namespace

InputSet join(const std::vector<const InputSet*>& members) {
  InputSet joint;
  Json inputs = Json::object();
  Json& program = joint.program = {{"inputs", Json::array()},
                                   {"steps", Json::array()},
                                   {"outputs", Json::array()},
                                   {"context", members.front()->program["context"]},
                                   {"backward", nullptr}};
  for (std::size_t k = 0; k < members.size(); ++k) {
    const InputSet& member = *members[k];
    const std::string prefix = prefix_of(k);
    append_names(program["inputs"], member.program["inputs"], prefix);
    append_names(program["outputs"], member.program["outputs"], prefix);
    Json steps = member.program["steps"];
    move_in(steps, prefix, joint.storages.size());
    for (Json& step : steps) program["steps"].push_back(std::move(step));
    for (const auto& [name, value] : member.calls.at(0)["inputs"].items()) {
      Json moved = value;
      move_in(moved, prefix, joint.storages.size());
      inputs[prefix + name] = std::move(moved);
    }
    if (const Json& backward = member.program["backward"]; !backward.is_null()) {
      Json& whole = program["backward"];
      if (whole.is_null())
        whole = {{"of", Json::array()},
                 {"with", backward["with"].is_array() ? Json::array() : backward["with"]}};
      append_names(whole["of"], backward["of"], prefix);
      if (whole["with"].is_array()) append_names(whole["with"], backward["with"], prefix);
    }
    for (const Json& storage : member.storages) joint.storages.push_back(storage);
  }
  joint.calls.push_back({{"inputs", std::move(inputs)}});
  return joint;
}

Observation part_of(const Observation& joined, std::size_t member, std::size_t count) {
  const std::string prefix = prefix_of(member);
  Observation part = joined;
  for (Repetition& repetition : part.repetitions) {
    for (CallResult& call : repetition) {
      call.outputs = own_values(call.outputs, prefix);
      call.inputs = own_values(call.inputs, prefix);
      call.grads = own_values(call.grads, prefix);
    }
  }
  for (auto& [stage, seconds] : part.phases) seconds /= static_cast<double>(count);
  if (joined.reference)
    part.reference = std::make_shared<Observation>(part_of(*joined.reference, member, count));
  return part;
}

}  // namespace lockstep
