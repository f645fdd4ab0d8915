#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cases/decode.h"
#include "cases/sweep.h"

namespace lockstep {
namespace {

/// Says of every tensor that a policy refers to and that a call does not have.
void check_tensors(Reader& reader, const Node& node, const Policy& policy,
                   const ComparedNames& names, bool swept) {
  for (const Policy& child : policy.children) check_tensors(reader, node, child, names, swept);
  const std::string& of = policy.of;
  if (of.empty() || contains(names.tensors, of) || (swept && is_swept_result(of))) return;
  const bool known = contains(names.known, of);
  reader.error(
      node.pointer,
      fmt::format("found `{}` in `{}`, {}", one_line(of, 60), one_line(to_string(policy), 120),
                  known ? "which is no tensor" : "expected a tensor of the case"),
      known ? "it names an output or an input that is a tensor"
            : reader.suggestion(of, names.tensors));
}

void add_policy(Reader& reader, const std::string& output, const std::string& path,
                const Node& node, const ComparedNames& names, bool swept,
                std::vector<CompareRule>& rules) {
  const auto text = reader.text(node, "a policy such as \"close\"");
  if (!text) return;
  auto policy = parse_policy(*text);
  if (!policy) {
    reader.error(node.pointer, policy.error().message, policy.error().hint);
    return;
  }
  check_tensors(reader, node, *policy, names, swept);
  rules.push_back({output, path, std::move(*policy)});
}

}  // namespace

std::vector<CompareRule> decode_compare(Reader& reader, const Node& root,
                                        const ComparedNames& names, bool swept) {
  std::vector<CompareRule> rules;
  const auto node = reader.child(root, "compare");
  if (!node) return rules;
  if (!node.value()->is_object()) {
    reader.mismatch(*node, "an object of policies by output");
    return rules;
  }
  for (const auto& [output, value] : (*node)->items()) {
    const Node rule{&value, child_pointer(node->pointer, output)};
    const bool is_known = contains(names.known, output);
    const bool left_out = names.left_out.contains(output.substr(0, output.find('.')));
    if (!is_known && !left_out && !(swept && is_swept_result(output))) {
      reader.error(rule.pointer,
                   fmt::format("found `{}`, expected an output, an input that is changed, or a "
                               "gradient such as `x.grad`",
                               one_line(output, 60)),
                   suggestion(output, names.known), true);
      continue;
    }
    if (rule->is_string()) {
      add_policy(reader, output, "*", rule, names, swept, rules);
    } else if (rule->is_object()) {
      for (const auto& [path, policy] : rule->items())
        add_policy(reader, output, path, {&policy, child_pointer(rule.pointer, path)}, names, swept,
                   rules);
    } else {
      reader.mismatch(rule, "a policy such as \"close\", or an object of policies by path");
    }
  }
  // Not every operator of a sweep has as many results as another.
  std::erase_if(rules,
                [&](const CompareRule& rule) { return !contains(names.known, rule.output); });
  return rules;
}

}  // namespace lockstep
