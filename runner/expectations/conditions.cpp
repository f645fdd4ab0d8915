#include "expectations/conditions.h"

#include <sstream>

#include "base/cpu.h"

namespace lockstep {
namespace {

std::string fact_of(const Json& said, const char* name) {
  if (!said.is_object()) return "";
  const auto found = said.find(name);
  return found != said.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<std::string> words_between_blanks(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace

std::map<std::string, std::string> facts_of(const Json& machine, const Json& eager) {
  std::map<std::string, std::string> facts;
  for (const Json* of : {&machine, &eager}) {
    if (!of->is_object()) continue;
    for (const auto& [name, value] : of->items()) {
      if (!value.is_primitive() || value.is_null()) continue;
      facts.emplace(name, plain_text(value));
    }
  }
  return facts;
}

ExpectationConditions conditions_of(const Json& machine, const Json& eager, std::string today) {
  ExpectationConditions conditions;
  conditions.torch = fact_of(eager, "torch");
  conditions.cpu_level = cpu_level_of(fact_of(eager, "cpu_capability"));
  conditions.cpu_features = words_between_blanks(fact_of(machine, "cpu_features"));
  conditions.today = std::move(today);
  conditions.environment = facts_of(machine, eager);
  return conditions;
}

std::map<std::string, CpuConditions> cpu_conditions_of(std::span<const Path> paths,
                                                       std::string_view cpu_flags) {
  std::map<std::string, CpuConditions> conditions;
  for (const Path& path : paths) {
    if (path.site.cpu_level.empty()) continue;
    std::string limit;
    for (const auto& [name, value] : path.environment) {
      if (name == "ONEDNN_MAX_CPU_ISA") limit = value;
    }
    conditions[path.name] = {path.site.cpu_level, cpu_features(cpu_flags, limit)};
  }
  return conditions;
}

}  // namespace lockstep
