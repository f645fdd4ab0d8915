#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cases/decode.h"
#include "cases/sweep.h"

namespace lockstep {
namespace {

void add_policy(Reader& reader, const std::string& output, const std::string& path,
                const Node& node, std::vector<CompareRule>& rules) {
  const auto text = reader.text(node, "a policy such as \"close\"");
  if (!text) return;
  auto policy = parse_policy(*text);
  if (!policy) {
    reader.error(node.pointer, policy.error().message, policy.error().hint);
    return;
  }
  rules.push_back({output, path, std::move(*policy)});
}

}  // namespace

std::vector<CompareRule> decode_compare(Reader& reader, const Node& root,
                                        const std::vector<std::string>& known, bool swept) {
  std::vector<CompareRule> rules;
  const auto node = reader.child(root, "compare");
  if (!node) return rules;
  if (!node.value()->is_object()) {
    reader.mismatch(*node, "an object of policies by output");
    return rules;
  }
  for (const auto& [output, value] : (*node)->items()) {
    const Node rule{&value, child_pointer(node->pointer, output)};
    const bool is_known = contains(known, output);
    if (!is_known && !(swept && is_swept_result(output))) {
      reader.error(rule.pointer,
                   fmt::format("found `{}`, expected an output, an input that is changed, or a "
                               "gradient such as `x.grad`",
                               one_line(output, 60)),
                   suggestion(output, known), true);
      continue;
    }
    if (rule->is_string()) {
      add_policy(reader, output, "*", rule, rules);
    } else if (rule->is_object()) {
      for (const auto& [path, policy] : rule->items())
        add_policy(reader, output, path, {&policy, child_pointer(rule.pointer, path)}, rules);
    } else {
      reader.mismatch(rule, "a policy such as \"close\", or an object of policies by path");
    }
  }
  // Not every operator of a sweep has as many results as another.
  std::erase_if(rules, [&](const CompareRule& rule) { return !contains(known, rule.output); });
  return rules;
}

}  // namespace lockstep
