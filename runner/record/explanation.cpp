#include "record/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/enum_table.h"
#include "base/text.h"

namespace lockstep {
namespace {

// Columns: how, name, brief, full, in_context.
constexpr std::array kHows = {
    HowInfo{How::unknown, "", "{} in the whole program", "{}", false},
    HowInfo{How::alone, "alone", "{} by itself", "{}, which departs by itself on eager's values",
            false},
    HowInfo{How::fused, "fused", "fusion of {}", "{}, which depart together on eager's values",
            false},
    HowInfo{How::value, "value", "{} in the whole program",
            "{}, which is not what eager makes of what it was given; alone on eager's values it "
            "conforms",
            false},
    HowInfo{How::first, "first", "{} at the end of all before it",
            "{}: the shortest beginning of the program that departs ends with it", true},
    HowInfo{How::gradient, "gradient", "the gradient of {}",
            "the gradient of {}, which departs by itself on what eager's backward hands it", true},
    HowInfo{How::raises, "raises", "the error of {}",
            "{0}, which raises in eager; alone on this path: {1}", false},
};
static_assert(has_every_row(kHows, &HowInfo::how));

using Json = nlohmann::ordered_json;

template <class T>
void put(Json& json, const char* key, const T& value) {
  if (value != T()) json[key] = value;
}

Json rung_json(const ExplainedRung& rung) {
  Json json = {{"path", rung.path}};
  put(json, "status", rung.status);
  put(json, "departs", rung.departs);
  return json;
}

Json step_json(const ExplainedStep& step) {
  Json json = Json::object();
  put(json, "name", step.name);
  json["text"] = step.text;
  put(json, "op", step.op);
  put(json, "value", step.value);
  put(json, "explained", step.explained);
  put(json, "alone", step.alone);
  put(json, "type", step.type);
  put(json, "at", step.at);
  put(json, "eager", step.eager);
  put(json, "compiled", step.compiled);
  put(json, "fp64", step.fp64);
  put(json, "stepwise", step.stepwise);
  return json;
}

Json knob_json(const ExplainedKnob& knob) {
  Json json = {{"name", knob.name}, {"title", knob.title}};
  put(json, "status", knob.status);
  put(json, "why", knob.why);
  put(json, "ends", knob.ends);
  return json;
}

Json pass_json(const ExplainedPass& pass) {
  Json json = Json::object();
  put(json, "backend", pass.backend);
  put(json, "subsystem", pass.subsystem);
  if (pass.number >= 0) json["number"] = pass.number;
  put(json, "what", pass.what);
  put(json, "why", pass.why);
  return json;
}

template <class T, class Make>
Json list_of(const std::vector<T>& items, Make&& make) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(make(item));
  return list;
}

/// "`exp`", "`mul` and `add`", "`to.dtype` twice".
std::string operators_text(const Explanation& explanation) {
  std::vector<std::pair<std::string, std::size_t>> counts;
  for (const std::size_t at : explanation.guilty) {
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
  if (explanation.guilty.empty()) return "no step found";
  const std::string operators = operators_text(explanation);
  return fmt::format(fmt::runtime(info(explanation.how).brief), operators);
}

std::string knobs_text(const Explanation& explanation) {
  std::vector<std::string> ends;
  std::size_t tried = 0;
  for (const ExplainedKnob& knob : explanation.knobs) {
    if (knob.ends) ends.push_back(knob.name);
    tried += knob.status.empty() ? 0 : 1;
  }
  if (!ends.empty()) return "; ends with " + enumerate(ends, "or");
  return tried == 0 ? "" : fmt::format("; none of {} settings ends it", tried);
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

enum class JsonKind { text, number, flag, texts, numbers, objects, object };

bool is_of_kind(const Json& json, JsonKind kind) {
  const auto all = [&](auto&& is) {
    return json.is_array() && std::all_of(json.begin(), json.end(), is);
  };
  switch (kind) {
    case JsonKind::text:
      return json.is_string();
    case JsonKind::number:
      return json.is_number();
    case JsonKind::flag:
      return json.is_boolean();
    case JsonKind::texts:
      return all([](const Json& each) { return each.is_string(); });
    case JsonKind::numbers:
      return all([](const Json& each) { return each.is_number_integer(); });
    case JsonKind::objects:
      return all([](const Json& each) { return each.is_object(); });
    case JsonKind::object:
      return json.is_object();
  }
  return false;
}

using JsonKinds = std::vector<std::pair<const char*, JsonKind>>;

/// The first key that there is and has another type; empty: none.
std::string misfit_in(const Json& json, const JsonKinds& kinds) {
  for (const auto& [key, kind] : kinds) {
    if (json.contains(key) && !is_of_kind(json[key], kind)) return key;
  }
  return {};
}

}  // namespace

std::span<const HowInfo> all_hows() { return kHows; }

const HowInfo& info(How how) { return kHows[static_cast<std::size_t>(how)]; }

Result<void> check_explanation(const Json& json) {
  static const JsonKinds kTop = {{"id", JsonKind::text},
                                 {"status", JsonKind::text},
                                 {"reason", JsonKind::text},
                                 {"output", JsonKind::text},
                                 {"seconds", JsonKind::number},
                                 {"executions", JsonKind::number},
                                 {"open", JsonKind::texts},
                                 {"sentence", JsonKind::text},
                                 {"layer", JsonKind::text},
                                 {"layer_title", JsonKind::text},
                                 {"ladder", JsonKind::objects},
                                 {"operators", JsonKind::texts},
                                 {"how", JsonKind::text},
                                 {"guilty", JsonKind::numbers},
                                 {"observing", JsonKind::text},
                                 {"ended_by", JsonKind::texts},
                                 {"cast", JsonKind::text},
                                 {"amplifier", JsonKind::text},
                                 {"steps", JsonKind::objects},
                                 {"knobs", JsonKind::objects},
                                 {"pass", JsonKind::object},
                                 {"agrees_with_eager", JsonKind::texts},
                                 {"agrees_with_compiled", JsonKind::texts}};
  static const std::vector<std::pair<const char*, JsonKinds>> kLists = {
      {"ladder",
       {{"path", JsonKind::text}, {"status", JsonKind::text}, {"departs", JsonKind::flag}}},
      {"steps",
       {{"name", JsonKind::text},
        {"text", JsonKind::text},
        {"op", JsonKind::text},
        {"value", JsonKind::text},
        {"explained", JsonKind::text},
        {"alone", JsonKind::text},
        {"type", JsonKind::text},
        {"at", JsonKind::numbers},
        {"eager", JsonKind::text},
        {"compiled", JsonKind::text},
        {"fp64", JsonKind::text},
        {"stepwise", JsonKind::text}}},
      {"knobs",
       {{"name", JsonKind::text},
        {"title", JsonKind::text},
        {"status", JsonKind::text},
        {"why", JsonKind::text},
        {"ends", JsonKind::flag}}}};
  static const JsonKinds kPass = {{"backend", JsonKind::text},
                                  {"subsystem", JsonKind::text},
                                  {"number", JsonKind::number},
                                  {"what", JsonKind::text},
                                  {"why", JsonKind::text}};
  if (!json.is_object()) return fail("an explanation is an object");
  for (const char* key : {"id", "sentence"}) {
    if (!json.contains(key)) return fail(fmt::format("an explanation needs `{}`", key));
  }
  std::string wrong = misfit_in(json, kTop);
  for (const auto& [key, kinds] : kLists) {
    if (!wrong.empty() || !json.contains(key)) continue;
    for (const Json& each : json[key]) {
      if (const std::string inside = misfit_in(each, kinds); !inside.empty() && wrong.empty())
        wrong = fmt::format("{}/{}", key, inside);
    }
  }
  if (wrong.empty() && json.contains("pass")) {
    if (const std::string inside = misfit_in(json["pass"], kPass); !inside.empty())
      wrong = "pass/" + inside;
  }
  if (!wrong.empty())
    return fail(fmt::format("`{}` of an explanation has another type than expected", wrong));
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
  Json json = {{"format", 1}, {"id", explanation.id}, {"status", explanation.status}};
  put(json, "reason", explanation.reason);
  put(json, "output", explanation.output);
  json["seconds"] = explanation.seconds;
  json["executions"] = explanation.executions;
  put(json, "open", explanation.open);
  json["sentence"] = explanation.sentence;
  put(json, "layer", explanation.layer);
  put(json, "layer_title", explanation.layer_title);
  json["ladder"] = list_of(explanation.ladder, rung_json);
  put(json, "operators", explanation.operators());
  put(json, "how", std::string(info(explanation.how).name));
  put(json, "guilty", explanation.guilty);
  put(json, "observing", explanation.observing);
  put(json, "ended_by", explanation.ended_by);
  put(json, "cast", explanation.cast);
  put(json, "amplifier", explanation.amplifier);
  put(json, "agrees_with_eager", explanation.agrees_with_eager);
  put(json, "agrees_with_compiled", explanation.agrees_with_compiled);
  json["steps"] = list_of(explanation.steps, step_json);
  json["knobs"] = list_of(explanation.knobs, knob_json);
  if (explanation.pass != ExplainedPass()) json["pass"] = pass_json(explanation.pass);
  return json;
}

std::string sentence_of(const Explanation& explanation) {
  if (explanation.layer.empty())
    return explanation.status == "conform" ? "it conforms: there is nothing to explain"
                                           : "it was not judged: there is nothing to explain";
  std::string text = explanation.layer_title.empty() ? explanation.layer : explanation.layer_title;
  text += ", " + culprit(explanation);
  if (!explanation.amplifier.empty())
    text += fmt::format(", which `{}` makes a difference", explanation.amplifier);
  if (explanation.observing == "vanishes" && explanation.how != How::fused)
    text += ", unless its values are seen";
  return text + knobs_text(explanation) + golds_text(explanation);
}

}  // namespace lockstep
