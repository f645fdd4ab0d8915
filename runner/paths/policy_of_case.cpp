#include "paths/policy_of_case.h"

#include <string>

#include "base/text.h"
#include "paths/globs.h"

namespace lockstep {

std::optional<Policy> policy_for(const Case& declared, std::string_view output,
                                 std::string_view path) {
  if (value_of_output(output).empty()) return Policy();  // a constant is the same or not
  std::string spelled = value_of_output(output);
  if (output.starts_with("grad ")) spelled = std::string(output.substr(5)) + ".grad";
  if (output.starts_with("input ")) spelled = std::string(output.substr(6));
  const CompareRule* best = nullptr;
  for (const CompareRule& rule : declared.compare) {
    if (rule.output != spelled || !path_matches(rule.path, path)) continue;
    if (rule.path == path) return rule.policy;
    const bool is_named = !has_wildcard(rule.path);  // the path whose variant this one is
    if (best == nullptr || best->path == "*" || is_named) best = &rule;
  }
  return best == nullptr ? std::nullopt : std::optional(best->policy);
}

}  // namespace lockstep
