#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "cases/decode.h"
#include "cases/fill.h"

namespace lockstep {
namespace {

/// Fall-backs that come from the shape, as torch.nn.init computes them: fan_in is a row's elements,
/// fan_out the rows times the receptive field.
double shape_parameter(std::string_view name, const std::vector<std::int64_t>& shape) {
  double row = 1, field = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) row *= static_cast<double>(shape[i]);
  for (std::size_t i = 2; i < shape.size(); ++i) field *= static_cast<double>(shape[i]);
  const double rows = shape.empty() ? 1 : static_cast<double>(shape[0]);
  return std::max(1.0, name == "fan_in" ? row : rows * field);
}

}  // namespace

/// What a rule's parameters must satisfy, beyond being numbers.
std::string parameter_fault(const RuleFill& fill, const Dtype& dtype) {
  const auto whole = [&](std::string_view name) {
    return std::floor(fill.parameter(name)) == fill.parameter(name);
  };
  if (fill.rule == "arange" && fill.parameter("divide") == 0) return "divide must not be 0";
  if (fill.rule == "integers") {
    if (!whole("low") || !whole("high") || fill.parameter("low") >= fill.parameter("high"))
      return "low and high must be integers, low < high";
    if (std::fabs(fill.parameter("low")) > 0x1p53 || std::fabs(fill.parameter("high")) > 0x1p53)
      return "low and high must be within 2^53";
  }
  if (fill.rule == "small_integers" && (!whole("magnitude") || fill.parameter("magnitude") < 0 ||
                                        fill.parameter("magnitude") > 0x1p31)) {
    return "magnitude must be an integer from 0 to 2^31";
  }
  if (fill.rule == "powers_of_two" &&
      (!whole("least") || !whole("greatest") ||
       fill.parameter("least") > fill.parameter("greatest") ||
       std::fabs(fill.parameter("least")) > 1100 || std::fabs(fill.parameter("greatest")) > 1100)) {
    return "least and greatest must be integers within 1100, least <= greatest";
  }
  if ((fill.rule == "kaiming" || fill.rule == "xavier") && fill.parameter("fan_in") < 1)
    return "fan_in must be at least 1";
  if (fill.rule == "grid" &&
      (!whole("place") || fill.parameter("place") < 0 || fill.parameter("place") > 7)) {
    return "place must be an integer from 0 to 7";
  }
  if (fill.rule == "all_bits" && dtype.bytes > 2)
    return fmt::format("{} has more than 16 bits", dtype.name);
  if (dtype.kind == NumberKind::opaque && fill.rule != "all_bits" && fill.rule != "constant") {
    return fmt::format("{} has no numbers: use all_bits or values of bits", dtype.name);
  }
  return "";
}
void decode_fill(Reader& reader, const Node& node, TensorSpec& spec) {
  std::vector<std::string> names;
  for (const RuleInfo& rule : fill_rules()) names.emplace_back(rule.name);
  RuleFill fill;
  std::optional<Node> parameters;
  if (node->is_string()) {
    fill.rule = node->get<std::string>();
  } else if (node->is_object()) {
    for (const auto& [key, value] : node->items()) {
      if (key == "seed") continue;
      if (!fill.rule.empty()) {
        reader.error(child_pointer(node.pointer, key),
                     fmt::format("found a second rule `{}`, expected one", one_line(key, 60)), "",
                     true);
        return;
      }
      fill.rule = key;
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
  const RuleInfo* rule = nullptr;
  for (const RuleInfo& candidate : fill_rules()) {
    if (candidate.name == fill.rule) rule = &candidate;
  }
  if (rule == nullptr) {
    reader.error(parameters ? parameters->pointer : node.pointer,
                 fmt::format("found the unknown fill rule `{}`", one_line(fill.rule, 60)),
                 suggestion(fill.rule, names), parameters.has_value());
    return;
  }
  if (node->is_object() && node->contains("seed") && !rule->seeded) {
    reader.error(child_pointer(node.pointer, "seed"),
                 fmt::format("found a seed, but `{}` draws no random numbers", rule->name), "",
                 true);
  }
  const bool direct = parameters && rule->name == "constant" && (*parameters)->is_number();
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
  for (const RuleParameter& parameter : rule->parameters) {
    double value =
        parameter.from_shape ? shape_parameter(parameter.name, spec.shape) : parameter.fallback;
    if (direct) {
      value = (*parameters)->get<double>();
    } else if (parameters) {
      if (const auto given = reader.child(*parameters, parameter.name))
        value = reader.number(*given).value_or(value);
    }
    fill.parameters.emplace_back(parameter.name, value);
  }
  if (const std::string fault = parameter_fault(fill, *spec.dtype); !fault.empty()) {
    reader.error(parameters ? parameters->pointer : node.pointer,
                 fmt::format("the fill `{}` cannot be made: {}", rule->name, fault));
  }
  spec.fill = std::move(fill);
}

}  // namespace lockstep
