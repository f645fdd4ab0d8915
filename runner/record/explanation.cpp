#include "record/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"

namespace lockstep {
namespace {

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
  if (explanation.how == "alone") return operators + " by itself";
  if (explanation.how == "fused") return "fusion of " + operators;
  if (explanation.how == "gradient") return "the gradient of " + operators;
  if (explanation.how == "raises") return "the error of " + operators;
  if (explanation.how == "first") return operators + " at the end of all before it";
  return operators + " in the whole program";
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

}  // namespace

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
  put(json, "how", explanation.how);
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
  if (explanation.observing == "vanishes" && explanation.how != "fused")
    text += ", unless its values are seen";
  return text + knobs_text(explanation) + golds_text(explanation);
}

}  // namespace lockstep
