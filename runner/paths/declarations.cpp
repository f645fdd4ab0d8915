#include "paths/declarations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/dtype.h"
#include "base/enum_table.h"
#include "base/pattern.h"
#include "base/text.h"
#include "cases/case.h"

namespace lockstep {
namespace {

using enum Feature;

constexpr std::array kFeatures = {
    FeatureInfo{
        dynamic_shapes, "dynamic_shapes",
        "calls that differ in the shape of a tensor or in a number, where the path does not "
        "say `\"dynamic\": false`; every instance with tensors where it says `true`"},
    FeatureInfo{gradients, "gradients",
                "`backward`, a step `grad`, or a tensor with `requires_grad`"},
    FeatureInfo{mutation, "mutation",
                "a step `set`, or an operator that writes to an argument, by its schema; a public "
                "function by its name (`add_`), `inplace` or `out`"},
    FeatureInfo{complex, "complex",
                "a complex dtype of an input, a literal or an argument, or a complex number"},
    FeatureInfo{strides, "strides",
                "every instance: it is judged all the same, but strides that differ from eager's "
                "are not held against the path"},
    FeatureInfo{bits, "bits",
                "every instance: it is judged all the same, but where the case says nothing, by "
                "what the contract `values` means; `[\"gradients\", \"bits\"]`: its gradients are"},
};
static_assert(has_every_row(kFeatures, &FeatureInfo::feature));

std::vector<std::string> feature_names() {
  std::vector<std::string> names;
  for (const FeatureInfo& each : kFeatures) names.emplace_back(each.name);
  return names;
}

/// A sentence for people, which every declaration has.
std::string reason_of(Reader& reader, const Node& entry) {
  const auto node = reader.required(entry, "reason", "why, a sentence for reports");
  const auto text = node ? reader.text(*node) : std::nullopt;
  if (text && text->find_first_not_of(" \t\r\n") == std::string::npos)
    reader.mismatch(*node, "a sentence: what is not supported without a reason is a failure");
  return text.value_or("");
}

/// A list of globs that is not empty, where the key is there.
std::vector<std::string> globs_of(Reader& reader, const Node& entry, std::string_view key) {
  const auto list = reader.child(entry, key);
  if (!list) return {};
  if ((*list)->is_array() && (*list)->empty()) reader.mismatch(*list, "at least one");
  return reader.texts(*list, "a list of globs; `!glob` excludes");
}

/// Every glob of dtypes must mean one that Lockstep knows.
void check_dtypes(Reader& reader, const Node& entry) {
  std::vector<std::string> names;
  for (const Dtype& dtype : all_dtypes()) names.emplace_back(dtype.name);
  reader.each_text(reader.child(entry, "dtypes"), [&](const Node& item, std::string glob) {
    if (glob.starts_with('!')) glob.erase(0, 1);
    const bool known = std::any_of(names.begin(), names.end(),
                                   [&](const auto& name) { return glob_match(glob, name); });
    if (!known) reader.mismatch(item, "a dtype or a glob of some", reader.suggestion(glob, names));
  });
}

Unsupported decode_unsupported(Reader& reader, const Node& entry) {
  Unsupported result;
  if (!reader.object(entry, {"operators", "dtypes", "devices", "features", "torch", "reason"}))
    return result;
  result.operators = globs_of(reader, entry, "operators");
  result.dtypes = globs_of(reader, entry, "dtypes");
  result.devices = globs_of(reader, entry, "devices");
  check_dtypes(reader, entry);
  if (const auto list = reader.child(entry, "features")) {
    if (reader.list(*list, "a list of features") && (*list)->empty())
      reader.mismatch(*list, "at least one");
    for (std::size_t i = 0; (*list)->is_array() && i < (*list)->size(); ++i) {
      const auto word = reader.word(reader.element(*list, i), feature_names(),
                                    "a feature: " + enumerate(feature_names(), "or"));
      if (const FeatureInfo* known = word ? find_named(kFeatures, *word) : nullptr)
        result.features.push_back(known->feature);
    }
    for (const Feature weaker : {strides, bits}) {
      const auto found = std::find(result.features.begin(), result.features.end(), weaker);
      if (found == result.features.end() || result.features.size() == 1) continue;
      if (result.features == std::vector{gradients, bits}) continue;  // the bits of gradients
      reader.error(
          list->pointer,
          fmt::format("found `{}` beside other features, expected it alone", name_of(weaker)),
          fmt::format("where {0} are not in the contract, the rest is judged all the same: write "
                      "two entries",
                      name_of(weaker)));
    }
  }
  if (!entry->contains("operators") && !entry->contains("dtypes") && !entry->contains("devices") &&
      !entry->contains("features"))
    reader.error(entry.pointer,
                 "found no `operators`, `dtypes`, `devices` or `features`: nothing that is not "
                 "supported",
                 "a path that supports nothing on a device leaves it out of its own `devices`");
  if (const auto range = reader.child(entry, "torch")) {
    result.torch = reader.text(*range).value_or("");
    if ((*range)->is_string() && !valid_range(result.torch))
      reader.mismatch(*range, "a range such as \">=2.12,<2.14\"");
  }
  result.reason = reason_of(reader, entry);
  return result;
}

RefusalRule decode_refusal(Reader& reader, const Node& entry) {
  RefusalRule result;
  if (!reader.object(entry, {"error", "match", "reason"})) return result;
  const auto text = [&](std::string_view key, std::string_view what) {
    const auto node = reader.child(entry, key);
    const auto value = node ? reader.text(*node, what) : std::nullopt;
    if (value && value->empty()) reader.mismatch(*node, what);
    return value.value_or("");
  };
  result.error = text("error", "the class of an error, as Python names it, or a glob");
  result.match = text("match", "an expression to be found in the message");
  result.reason = reason_of(reader, entry);
  bool every_text = result.match.empty();
  if (!every_text) {
    const auto found = is_found(result.match, "");
    if (!found)
      reader.error(reader.child(entry, "match")->pointer, found.error().message,
                   found.error().hint);
    every_text = found.value_or(false);
  }
  if (every_text && result.error.find_first_not_of("*?") == std::string::npos)
    reader.error(entry.pointer, "found a rule that every error meets, expected a class or a text",
                 "a failure of the compiler must stay one: say in `error` or `match` which errors "
                 "mean that it does not support something");
  return result;
}

ToleranceRule decode_tolerance(Reader& reader, const Node& entry) {
  ToleranceRule result;
  if (!reader.object(entry, {"operators", "dtypes", "rtol", "atol", "reason"})) return result;
  for (const char* key : {"operators", "dtypes"}) reader.required(entry, key, "a list of globs");
  result.operators = globs_of(reader, entry, "operators");
  result.dtypes = globs_of(reader, entry, "dtypes");
  check_dtypes(reader, entry);
  const auto number = [&](std::string_view key) {
    const auto node = reader.required(entry, key, "a tolerance");
    const auto value = node ? reader.number(*node, "a tolerance") : std::nullopt;
    if (value && !(*value >= 0 && *value < 1e300))
      reader.mismatch(*node, "a number that is not negative");
    return value.value_or(0);
  };
  result.rtol = number("rtol");
  result.atol = number("atol");
  result.reason = reason_of(reader, entry);
  return result;
}

}  // namespace

std::span<const FeatureInfo> all_features() { return kFeatures; }

std::string_view name_of(Feature feature) {
  return kFeatures[static_cast<std::size_t>(feature)].name;
}

Declarations decode_declarations(Reader& reader, const Node& path) {
  Declarations result;
  const auto each = [&](std::string_view key, auto&& decode) {
    const auto list = reader.child(path, key);
    if (!list || !reader.list(*list, "a list of objects")) return;
    for (std::size_t i = 0; i < (*list)->size(); ++i) decode(reader.element(*list, i));
  };
  each("unsupported",
       [&](const Node& entry) { result.unsupported.push_back(decode_unsupported(reader, entry)); });
  each("refuses",
       [&](const Node& entry) { result.refuses.push_back(decode_refusal(reader, entry)); });
  each("tolerances",
       [&](const Node& entry) { result.tolerances.push_back(decode_tolerance(reader, entry)); });
  return result;
}

}  // namespace lockstep
