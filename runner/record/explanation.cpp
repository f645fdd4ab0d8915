#include "record/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <concepts>
#include <optional>

#include "base/enum_table.h"
#include "base/json.h"
#include "base/text.h"

namespace lockstep {
namespace {

// Columns: how, name, brief, full, in_context.
constexpr std::array kHows = {
    HowInfo{How::unknown, "", "{} in the whole program", "{}", false},
    HowInfo{How::alone, "alone", "{} by itself", "{}, which diverges by itself on eager's values",
            false},
    HowInfo{How::fused, "fused", "fusion of {}", "{}, which diverge together on eager's values",
            false},
    HowInfo{How::value, "value", "{} in the whole program",
            "{}, which is not what eager makes of what it was given; alone on eager's values it "
            "conforms",
            false},
    HowInfo{How::first, "first", "{} at the end of all before it",
            "{}: the shortest beginning of the program that diverges ends with it", true},
    HowInfo{How::gradient, "gradient", "the gradient of {}",
            "the gradient of {}, which diverges by itself on what eager's backward hands it", true},
    HowInfo{How::raises, "raises", "the error of {}",
            "{0}, which raises in eager; alone on this path: {1}", false},
};
static_assert(has_every_row(kHows, &HowInfo::how));

// Writing and checking go through one list of members for each struct, as in verdict_json.cpp.

/// A struct that is an object in JSON.
template <class T>
concept Record = std::same_as<T, ExplainedLayer> || std::same_as<T, ExplainedStep> ||
    std::same_as<T, ExplainedKnob> || std::same_as<T, ExplainedPass> ||
    std::same_as<T, Explanation>;

template <class T>
concept List = !std::same_as<T, std::string> && requires {
  typename T::value_type;
};

template <class Visitor>
void members(Visitor& visit, const ExplainedLayer& layer) {
  visit.always("path", layer.path);
  visit("status", layer.status);
  visit("diverges", layer.diverges);
}

template <class Visitor>
void members(Visitor& visit, const ExplainedStep& step) {
  visit("name", step.name);
  visit.always("text", step.text);
  visit("op", step.op);
  visit("source", step.source);
  visit("value", step.value);
  visit("explained", step.explained);
  visit("alone", step.alone);
  visit("adds", step.adds);
  visit("type", step.type);
  visit("at", step.at);
  visit("eager", step.eager);
  visit("compiled", step.compiled);
  visit("fp64", step.fp64);
  visit("stepwise", step.stepwise);
}

template <class Visitor>
void members(Visitor& visit, const ExplainedKnob& knob) {
  visit.always("name", knob.name);
  visit.always("title", knob.title);
  visit("status", knob.status);
  visit("why", knob.why);
  visit("ends", knob.ends);
  visit("leaves", knob.leaves, -1.0);
}

template <class Visitor>
void members(Visitor& visit, const ExplainedPass& pass) {
  visit("backend", pass.backend);
  visit("subsystem", pass.subsystem);
  visit("number", pass.number, std::int64_t{-1});
  visit("what", pass.what);
  visit("why", pass.why);
}

template <class Visitor>
void members(Visitor& visit, const Explanation& explanation) {
  visit.always("id", explanation.id);
  visit.always("status", explanation.status);
  visit("reason", explanation.reason);
  visit("output", explanation.output);
  visit("size", explanation.size);
  visit("policy", explanation.policy);
  visit.always("seconds", explanation.seconds);
  visit.always("executions", explanation.executions);
  visit("open", explanation.open);
  visit.always("sentence", explanation.sentence);
  visit("layer", explanation.layer);
  visit("layer_title", explanation.layer_title);
  visit.always("ladder", explanation.ladder);
  visit("operators", explanation.operators());
  visit("how", std::string(info(explanation.how).name));
  visit("guilty", explanation.guilty);
  visit("also", explanation.also);
  visit("certain", explanation.certain);
  visit("borne_out", explanation.borne_out);
  visit("besides", explanation.besides);
  visit("conditions", explanation.conditions);
  visit("curve", explanation.curve);
  visit("observing", explanation.observing);
  visit("ended_by", explanation.ended_by);
  visit("cast", explanation.cast);
  visit("amplifier", explanation.amplifier);
  visit("agrees_with_eager", explanation.agrees_with_eager);
  visit("agrees_with_compiled", explanation.agrees_with_compiled);
  visit.always("steps", explanation.steps);
  visit.always("knobs", explanation.knobs);
  visit("pass", explanation.pass);
}

template <class T>
Json encode(const T& value);

/// Adds members to an object, but for those that have their initial value.
struct Writer {
  Json& json;

  template <class T>
  void operator()(const char* key, const T& value, const T& initial = {}) {
    if (value != initial) always(key, value);
  }
  template <class T>
  void always(const char* key, const T& value) {
    json[key] = encode(value);
  }
};

template <class T>
Json encode(const T& value) {
  if constexpr (Record<T>) {
    Json object = Json::object();
    Writer writer{object};
    members(writer, value);
    return object;
  } else if constexpr (List<T>) {
    Json list = Json::array();
    for (const auto& each : value) list.push_back(encode(each));
    return list;
  } else {
    return value;
  }
}

template <class T>
std::optional<std::string> misfit(const Json& json);

/// Finds the first member that there is and has another type.
struct Checker {
  const Json& json;
  std::optional<std::string> wrong = {};  ///< "steps/at"

  template <class T>
  void operator()(const char* key, const T&, const T& = {}) {
    always<T>(key, {});
  }
  template <class T>
  void always(const char* key, const T&) {
    if (wrong || !json.contains(key)) return;
    if (const auto inside = misfit<T>(json[key]))
      wrong = inside->empty() ? key : fmt::format("{}/{}", key, *inside);
  }
};

/// The place at which JSON is no T: empty if its own type is wrong; nothing if it is a T.
template <class T>
std::optional<std::string> misfit(const Json& json) {
  bool fits = false;
  if constexpr (Record<T>) {
    if (!json.is_object()) return "";
    Checker checker{json};
    members(checker, T());
    return checker.wrong;
  } else if constexpr (List<T>) {
    if (!json.is_array()) return "";
    for (const Json& each : json) {
      if (auto wrong = misfit<typename T::value_type>(each)) return wrong;
    }
    return std::nullopt;
  } else if constexpr (std::same_as<T, std::string>) {
    fits = json.is_string();
  } else if constexpr (std::same_as<T, bool>) {
    fits = json.is_boolean();
  } else if constexpr (std::integral<T>) {
    fits = json.is_number_integer();
  } else {
    fits = json.is_number();
  }
  return fits ? std::nullopt : std::optional<std::string>("");
}

/// "`exp`", "`mul` and `add`", "`to.dtype` twice".
std::string operators_text(const Explanation& explanation, const std::vector<std::size_t>& steps) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const std::size_t at : steps) {
    const ExplainedStep& step = explanation.steps[at];
    const std::string& name = step.op.empty() ? step.text : step.op;
    const auto found = std::find_if(counts.begin(), counts.end(),
                                    [&](const auto& each) { return each.first == name; });
    if (found == counts.end())
      counts.emplace_back(name, 1);
    else
      ++found->second;
  }
  std::vector<std::string> words;
  for (const auto& [name, count] : counts) {
    words.push_back(fmt::format("`{}`{}", name,
                                count == 1   ? ""
                                : count == 2 ? " twice"
                                             : fmt::format(" {} times", count)));
  }
  return enumerate(words);
}

/// Who did it, in a few words.
std::string culprit(const Explanation& explanation) {
  if (explanation.guilty.empty()) return "the step was not found";
  std::string text = fmt::format(fmt::runtime(info(explanation.how).brief),
                                 operators_text(explanation, explanation.guilty));
  if (!explanation.also.empty())
    text += ", and less by " + operators_text(explanation, explanation.also);
  return (explanation.certain ? "" : "likely ") + text;
}

std::string knobs_text(const Explanation& explanation) {
  std::vector<std::string> ends;
  std::size_t tried = 0;
  for (const ExplainedKnob& knob : explanation.knobs) {
    if (knob.ends) ends.push_back(knob.name);
    tried += knob.status.empty() ? 0 : 1;
  }
  if (!ends.empty()) return "; ends with " + enumerate(ends, "or");
  if (tried == 0) return "";
  const auto least = std::min_element(
      explanation.knobs.begin(), explanation.knobs.end(), [](const auto& a, const auto& b) {
        return (a.leaves < 0 ? 1 : a.leaves) < (b.leaves < 0 ? 1 : b.leaves);
      });
  if (least->leaves >= 0 && least->leaves <= 0.5)
    return fmt::format("; {} leaves {:.0f} % of it", least->name, 100 * least->leaves);
  return fmt::format("; none of {} settings ends it", tried);
}

std::string golds_text(const Explanation& explanation) {
  const auto agrees = [](const std::vector<std::string>& golds) {
    std::vector<std::string> words;
    if (contains(golds, "stepwise")) words.emplace_back("the eager-faithful gold");
    if (contains(golds, "fp64")) words.emplace_back("the fp64 gold");
    return words;
  };
  std::string text;
  for (const auto& [golds, side] :
       {std::pair{agrees(explanation.agrees_with_eager), "eager"},
        std::pair{agrees(explanation.agrees_with_compiled), "compiled"}}) {
    if (golds.empty()) continue;
    text += fmt::format("; {} {} with {}", enumerate(golds), golds.size() == 1 ? "agrees" : "agree",
                        side);
  }
  return text;
}

}  // namespace

std::span<const HowInfo> all_hows() { return kHows; }

const HowInfo& info(How how) { return kHows[static_cast<std::size_t>(how)]; }

Result<void> check_explanation(const Json& json) {
  if (!json.is_object()) return fail("an explanation is an object");
  for (const char* key : {"id", "sentence"}) {
    if (!json.contains(key)) return fail(fmt::format("an explanation needs `{}`", key));
  }
  if (const auto wrong = misfit<Explanation>(json))
    return fail(fmt::format("`{}` of an explanation has another type than expected", *wrong));
  return {};
}

std::vector<std::string> Explanation::operators() const {
  std::vector<std::string> names;
  for (const std::size_t at : guilty) {
    if (!steps[at].op.empty() && !contains(names, steps[at].op)) names.push_back(steps[at].op);
  }
  return names;
}

Json to_json(const Explanation& explanation) {
  Json json = {{"format", 1}};
  Writer writer{json};
  members(writer, explanation);
  return json;
}

std::string sentence_of(const Explanation& explanation) {
  if (explanation.layer.empty())
    return explanation.status == "conform"
               ? "it conforms, and nothing differs: there is nothing to explain"
               : "it was not judged: there is nothing to explain";
  if (explanation.status == "conform")
    return fmt::format(
        "it conforms: {} in `{}`, of {}, {}; {}", explanation.size, explanation.output,
        explanation.layer_title.empty() ? explanation.layer : explanation.layer_title,
        culprit(explanation), explanation.policy);
  std::string text = explanation.layer_title.empty() ? explanation.layer : explanation.layer_title;
  text += ", " + culprit(explanation);
  if (!explanation.amplifier.empty())
    text += fmt::format(", which `{}` amplifies", explanation.amplifier);
  if (explanation.observing == "vanishes" && explanation.how != How::fused)
    text += ", unless its values are seen";
  if (!explanation.conditions.empty()) text += "; it takes " + enumerate(explanation.conditions);
  return text + knobs_text(explanation) + golds_text(explanation);
}

}  // namespace lockstep
