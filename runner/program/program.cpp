#include "program/program.h"

#include <algorithm>
#include <map>

namespace lockstep {

bool WithBlock::operator==(const WithBlock& other) const {
  return context == other.context && steps == other.steps;
}

bool SubProgram::operator==(const SubProgram& other) const {
  return role == other.role && inputs == other.inputs && steps == other.steps &&
         outputs == other.outputs;
}

Context joined(Context outer, const Context& inner) {
  const auto put = [](auto& into, const auto& value) {
    if (value) into = value;
  };
  put(outer.grad, inner.grad);
  put(outer.inference, inner.inference);
  put(outer.deterministic_algorithms, inner.deterministic_algorithms);
  put(outer.autocast, inner.autocast);
  put(outer.default_dtype, inner.default_dtype);
  put(outer.compiled, inner.compiled);
  outer.thread = outer.thread || inner.thread;
  return outer;
}

void prune_carry(Program& program) {
  std::vector<std::string> left = returned_values(program);
  left.insert(left.end(), program.inputs.begin(), program.inputs.end());
  const auto among = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::erase_if(program.carry, [&](const auto& each) {
    return !among(program.inputs, each.first) || !among(left, each.second);
  });
}

std::vector<Value> returning(const std::vector<std::string>& names) {
  std::vector<Value> outputs;
  for (const std::string& name : names) outputs.push_back({Ref{name}});
  return outputs;
}

std::vector<std::string> returned_values(const Program& program) {
  std::vector<std::string> names;
  for (const Value& output : program.outputs) {
    const auto* ref = std::get_if<Ref>(&output.is);
    if (ref != nullptr && std::find(names.begin(), names.end(), ref->name) == names.end())
      names.push_back(ref->name);
  }
  return names;
}

bool returns_constants(const Program& program) {
  return std::any_of(program.outputs.begin(), program.outputs.end(),
                     [](const Value& output) { return !std::holds_alternative<Ref>(output.is); });
}

std::vector<std::string> output_names(const Program& program) {
  std::vector<std::string> names;
  std::map<std::string, std::size_t> times;
  for (const Value& output : program.outputs) {
    const auto* ref = std::get_if<Ref>(&output.is);
    const std::size_t number = ref == nullptr ? names.size() + 1 : ++times[ref->name];
    names.push_back(ref == nullptr ? "output-" + std::to_string(number)
                    : number == 1  ? ref->name
                                   : ref->name + "(" + std::to_string(number) + ")");
  }
  return names;
}

std::string value_of_output(std::string_view name) {
  return name.find('-') != std::string_view::npos ? ""
                                                  : std::string(name.substr(0, name.find('(')));
}

bool is_name(std::string_view text) {
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !text.empty() && text.find_first_not_of(kLetters) == std::string_view::npos &&
         !(text.front() >= '0' && text.front() <= '9');
}

}  // namespace lockstep
