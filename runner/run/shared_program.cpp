#include "run/shared_program.h"

#include <fmt/format.h>

#include <string>

#include "program/edit.h"

namespace lockstep {
namespace {

std::string prefix_of(std::size_t member) { return fmt::format("m{}_", member); }

/// The view on what is `storages` places further in a joint list; scalars stay.
Json moved(Json value, std::size_t storages) {
  if (!value.is_object()) return value;
  if (const auto storage = value.find("storage"); storage != value.end())
    *storage = storage->get<std::size_t>() + storages;
  return value;
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

void keep_own(std::optional<std::vector<std::string>>& names, const std::string& prefix) {
  if (!names) return;
  std::erase_if(*names, [&](const std::string& name) { return !name.starts_with(prefix); });
  for (std::string& name : *names) name.erase(0, prefix.size());
}

}  // namespace

std::optional<InputSet> join(const std::vector<const InputSet*>& members) {
  InputSet joint;
  Json inputs = Json::object();
  for (std::size_t k = 0; k < members.size(); ++k) {
    const InputSet& member = *members[k];
    const std::string prefix = prefix_of(k);
    Program part = member.program;
    add_prefix(part, prefix);
    if (k == 0) {
      joint.program = std::move(part);
    } else if (!splice(joint.program, std::move(part), joint.literals.size())) {
      return std::nullopt;
    }
    const std::size_t before = joint.storages.size();
    for (const Json& view : member.literals) joint.literals.push_back(moved(view, before));
    for (const auto& [name, value] : member.calls.at(0)["inputs"].items())
      inputs[prefix + name] = moved(value, before);
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
      call.outputs_again = own_values(call.outputs_again, prefix);
      call.grads_again = own_values(call.grads_again, prefix);
      call.warnings.reset();  // whose each is nobody can tell
      keep_own(call.state.versions, prefix);
      keep_own(call.state.kept, prefix);
    }
  }
  for (auto& [stage, seconds] : part.phases) seconds /= static_cast<double>(count);
  if (joined.reference)
    part.reference = std::make_shared<Observation>(part_of(*joined.reference, member, count));
  return part;
}

}  // namespace lockstep
