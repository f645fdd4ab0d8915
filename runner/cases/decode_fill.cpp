#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cases/decode.h"
#include "cases/fill.h"

namespace lockstep {

void decode_fill(Reader& reader, const Node& node, TensorSpec& spec) {
  std::vector<std::string> names;
  for (const FillRule& rule : fill_rules()) names.emplace_back(rule.name);
  RuleFill fill;
  std::string name;
  std::optional<Node> parameters;
  if (node->is_string()) {
    name = node->get<std::string>();
  } else if (node->is_object()) {
    for (const auto& [key, value] : node->items()) {
      if (key == "seed") continue;
      if (!name.empty()) {
        reader.error(child_pointer(node.pointer, key),
                     fmt::format("found a second rule `{}`, expected one", one_line(key, 60)), "",
                     true);
        return;
      }
      name = key;
      parameters = reader.child(node, key);
    }
    if (const auto seed = reader.child(node, "seed")) {
      fill.seed = static_cast<std::uint64_t>(
          reader.integer(*seed, 0, INT64_MAX, "a seed of 0 or more").value_or(0));
    }
  } else {
    reader.mismatch(node, "the name of a fill rule, or an object with one", suggestion("", names));
    return;
  }
  const FillRule* rule = find_fill_rule(name);
  if (rule == nullptr) {
    reader.error(parameters ? parameters->pointer : node.pointer,
                 fmt::format("found the unknown fill rule `{}`", one_line(name, 60)),
                 suggestion(name, names), parameters.has_value());
    return;
  }
  if (node->is_object() && node->contains("seed") && !rule->seeded) {
    reader.error(child_pointer(node.pointer, "seed"),
                 fmt::format("found a seed, but `{}` draws no random numbers", rule->name), "",
                 true);
  }
  const bool direct = parameters && rule->direct && (*parameters)->is_number();
  std::vector<std::string> known;
  for (const RuleParameter& parameter : rule->parameters) known.emplace_back(parameter.name);
  if (parameters && !direct) {
    if (!(*parameters)->is_object() || ((*parameters)->empty() && node->size() == 1)) {
      reader.mismatch(*parameters, known.empty()
                                       ? fmt::format("no parameters: write \"{}\"", rule->name)
                                       : fmt::format("an object with {}", enumerate(known)));
      return;
    }
    for (const auto& [key, value] : (*parameters)->items()) {
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        reader.error(
            child_pointer(parameters->pointer, key),
            fmt::format("found the unknown parameter `{}` of `{}`", one_line(key, 60), rule->name),
            suggestion(key, known), true);
      }
    }
  }
  fill.rule = rule;
  for (const RuleParameter& parameter : rule->parameters) {
    double value =
        parameter.from_shape != nullptr ? parameter.from_shape(spec.shape) : parameter.fallback;
    if (direct) {
      value = (*parameters)->get<double>();
    } else if (parameters) {
      if (const auto given = reader.child(*parameters, parameter.name))
        value = reader.number(*given).value_or(value);
    }
    fill.parameters.emplace_back(parameter.name, value);
  }
  std::string fault = rule->fault(fill, *spec.dtype);
  if (fault.empty() && spec.dtype->kind == NumberKind::opaque && !rule->opaque)
    fault = fmt::format("{} has no numbers: use all_bits or values of bits", spec.dtype->name);
  if (!fault.empty()) {
    reader.error(parameters ? parameters->pointer : node.pointer,
                 fmt::format("the fill `{}` cannot be made: {}", rule->name, fault));
  }
  spec.fill = std::move(fill);
}

}  // namespace lockstep
