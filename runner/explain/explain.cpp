#include "explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "explain/numbers.h"
#include "explain/operators.h"
#include "explain/passes.h"
#include "record/ladder.h"

namespace lockstep {
namespace {

/// The verdicts of the layers as a run has them, so that the ladder reads them.
RunRecord record_of(const std::vector<Path>& layers, const std::vector<Tried>& tried) {
  RunRecord record;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    record.info.paths.push_back({layers[i].name, layers[i].title, "", "", layers[i].declared});
    if (tried[i].verdict) record.verdicts.push_back(*tried[i].verdict);
  }
  return record;
}

/// Goes down the ladder.  Which of the layers diverges first; nothing: none does.
const Path* find_layer(const ExplainRequest& request, const std::vector<Tried>& tried,
                       Explanation& explanation) {
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    const auto& verdict = tried[i].verdict;
    explanation.ladder.push_back({request.layers[i].name,
                                  verdict ? std::string(info(verdict->found.status).name) : "",
                                  tried[i].diverges()});
  }
  if (!tried.back().diverges()) return nullptr;
  const RunRecord record = record_of(request.layers, tried);
  const Ladder ladder(record);
  const Verdict& verdict = *tried.back().verdict;
  explanation.layer = ladder.first_diverging(verdict);
  const auto layer = std::find_if(request.layers.begin(), request.layers.end(),
                                  [&](const Path& path) { return path.name == explanation.layer; });
  if (const auto unknown = ladder.unknown_below(verdict);
      !unknown.empty() && request.layers.size() > 1)
    explanation.open.push_back(
        fmt::format("whether it begins below: {} gave no verdict", enumerate(unknown)));
  explanation.layer_title = layer->layer.empty() ? layer->title : layer->layer;
  return &*layer;
}

std::vector<std::string> overloads_of(const Explanation& explanation, const Case& declared) {
  const std::vector<FlatStep> flat = flatten(declared.program.steps);
  std::vector<std::string> names;
  for (const std::size_t at : explanation.guilty) {
    const auto* op = std::get_if<OpCall>(&flat[at].step.does);
    if (op != nullptr && !contains(names, op->op)) names.push_back(op->op);
  }
  return names;
}

void try_knobs(const ExplainRequest& request, Trials& trials, Explanation& explanation) {
  const Path& path = request.layers.back();
  const std::vector<std::string> accused = overloads_of(explanation, *request.declared);
  std::vector<Path> changed;
  std::vector<std::size_t> of;
  for (const Knob& knob : request.table.knobs) {
    ExplainedKnob& tried = explanation.knobs.emplace_back();
    tried.name = knob.name;
    tried.title = knob.title;
    tried.why = why_not(knob, path, request.torch, accused);
    if (!tried.why.empty()) continue;
    changed.push_back(with_knob(path, knob, accused));
    of.push_back(explanation.knobs.size() - 1);
  }
  if (changed.empty()) return;
  const std::vector<Tried> all = std::move(
      trials.run({{request.declared->id + " (with a setting)", request.declared, changed}})
          .front());
  bool missing = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    ExplainedKnob& knob = explanation.knobs[of[i]];
    missing = missing || !all[i].verdict;
    if (!all[i].verdict) {
      knob.why = "no time";
    } else if (all[i].verdict->found.status == Status::unsupported) {
      knob.why = all[i].verdict->found.reason;
    } else {
      knob.status = std::string(info(all[i].verdict->found.status).name);
      knob.ends = all[i].verdict->found.status == Status::conform;
    }
  }
  if (missing) explanation.open.emplace_back("what some settings do: no time");
}

}  // namespace

Explanation explain(const ExplainRequest& request, Trials& trials) {
  const auto began = Trials::Clock::now();
  Explanation explanation;
  explanation.id = request.id;
  const std::vector<Tried> layers = std::move(
      trials.run({{request.declared->id + " (down the ladder)", request.declared, request.layers}})
          .front());
  const auto end = [&] {
    explanation.seconds = std::chrono::duration<double>(Trials::Clock::now() - began).count();
    explanation.executions = trials.count();
    explanation.sentence = sentence_of(explanation);
    return std::move(explanation);
  };
  const Tried& top = layers.back();
  if (!top.verdict) {
    explanation.open.emplace_back("everything: there was no time for the verdict itself");
    return end();
  }
  explanation.status = std::string(info(top.verdict->found.status).name);
  explanation.reason = top.verdict->found.reason;
  explanation.output = fault_of(*top.verdict).name;
  const Path* layer = find_layer(request, layers, explanation);
  if (layer == nullptr) return end();
  const auto place = static_cast<std::size_t>(layer - request.layers.data());
  Suspect suspect{request.declared->id,
                  request.declared,
                  *layer,
                  request.registry,
                  fault_of(*layers[place].verdict),
                  *layers[place].verdict};
  const SeenValues seen = find_operators(suspect, trials, explanation);
  read_numbers(suspect, seen, explanation);
  try_knobs(request, trials, explanation);
  if (!request.scratch.empty())
    explanation.pass = find_pass(suspect, request.table.bisected, request.scratch, trials);
  return end();
}

}  // namespace lockstep
