#include "explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

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

/// The layer of that name, or nullptr.
const Path* layer_named(const ExplainRequest& request, const std::string& name) {
  const auto layer = std::find_if(request.layers.begin(), request.layers.end(),
                                  [&](const Path& path) { return path.name == name; });
  return layer == request.layers.end() ? nullptr : &*layer;
}

/// "`eager` differs, too, but not in this way: |Δ| 2.3e-10 in `y`"
std::string besides_of(const Verdict& layer) {
  const Fault fault = fault_of(layer);
  return fmt::format("`{}` differs, too, but not in this way: {}{}", layer.facts.path,
                     describe(fault),
                     fault.name.empty() ? "" : fmt::format(" in `{}`", fault.name));
}

/// Goes down the ladder.  Which of the layers diverges first in this way, or differs, where the
/// verdict conforms; nothing: none does.
const Path* find_layer(const ExplainRequest& request, const std::vector<Tried>& tried,
                       Explanation& explanation) {
  for (std::size_t i = 0; i < request.layers.size(); ++i) {
    const auto& verdict = tried[i].verdict;
    explanation.ladder.push_back({request.layers[i].name,
                                  verdict ? std::string(info(verdict->found.status).name) : "",
                                  tried[i].diverges()});
  }
  const Verdict& verdict = *tried.back().verdict;
  const bool differs = tried.back().diverges() || fault_of(verdict).shown;
  if (!differs || !info(verdict.found.status).judged()) return nullptr;
  const RunRecord record = record_of(request.layers, tried);
  const Ladder ladder(record);
  explanation.layer = ladder.first_diverging(verdict);
  const Path* layer = layer_named(request, explanation.layer);
  auto unknown = ladder.unknown_below(verdict);
  // Eager called from Python is the reference itself where C++ eager has no spelling.
  std::erase_if(unknown, [&](const std::string& name) {
    const Path* path = layer_named(request, name);
    return path != nullptr && !path->compiles;
  });
  if (!unknown.empty() && request.layers.size() > 1)
    explanation.open.push_back(
        fmt::format("whether it begins below: {} gave no verdict", enumerate(unknown)));
  for (const Verdict* other : ladder.otherwise_below(verdict))
    explanation.besides.push_back(besides_of(*other));
  explanation.layer_title = layer->layer.empty() ? layer->title : layer->layer;
  return layer;
}

/// Which policy lets a difference pass, by what it measured: "`no_worse(1)` lets it pass: error
/// 1.2e-07 of at most 2.4e-07".
std::string why_it_passes(const Verdict& verdict, const Fault& fault) {
  const OutputComparison* output = comparison_of(verdict, fault.name, fault.call);
  if (output == nullptr) return "";
  std::string text = fmt::format("`{}` lets it pass", output->policy);
  const auto held = std::find_if(output->checks.begin(), output->checks.end(),
                                 [](const Measurement& leaf) { return leaf.ok; });
  if (held != output->checks.end())
    text += fmt::format(", by `{}`: {} {:.3g} of at most {:.3g}", held->policy, name_of(held->of),
                        held->measured, held->limit);
  return text;
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

/// Further executions that need nothing of each other: they are made together, side by side.
class Questions {
 public:
  using Read = std::function<void(const std::vector<Tried>&)>;

  /// `read` takes what becomes of the trial, on each of its paths.
  void ask(Trial trial, Read read) {
    trials_.push_back(std::move(trial));
    reads_.push_back(std::move(read));
  }
  void answer(Trials& trials) {
    const auto tried = trials.run(trials_);
    for (std::size_t i = 0; i < tried.size(); ++i) reads_[i](tried[i]);
  }

 private:
  std::vector<Trial> trials_;
  std::vector<Read> reads_;
};

/// What a setting did to the divergence.
void read_knob(const Tried& tried, const Fault& fault, ExplainedKnob& knob) {
  if (!tried.verdict) {
    knob.why = "no time";
  } else if (tried.verdict->found.status == Status::unsupported) {
    knob.why = tried.verdict->found.reason;
  } else {
    const Verdict& verdict = *tried.verdict;
    knob.status = std::string(info(verdict.found.status).name);
    knob.leaves = share_of(verdict, fault).value_or(-1);
    knob.ends = info(verdict.found.status).judged() && !has(verdict, fault) &&
                (verdict.found.status == Status::conform || knob.leaves * kBand < 1);
  }
}

/// The settings are tried on `declared`.
void ask_knobs(const ExplainRequest& request, const std::shared_ptr<const Case>& declared,
               const Fault& fault, Questions& questions, Explanation& explanation) {
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
  questions.ask(
      {request.declared->id + " (with a setting)", declared, changed},
      [&explanation, fault, of](const std::vector<Tried>& all) {
        for (std::size_t i = 0; i < all.size(); ++i)
          read_knob(all[i], fault, explanation.knobs[of[i]]);
        if (std::any_of(all.begin(), all.end(), [](const Tried& each) { return !each.verdict; }))
          explanation.open.emplace_back("what some settings do: no time");
      });
}

/// What ends the divergence of a part of the program is tried on all of it, too.
void confirm_knobs(const ExplainRequest& request, const Fault& fault, Trials& trials,
                   Explanation& explanation) {
  const std::vector<std::string> accused = overloads_of(explanation, *request.declared);
  std::vector<Path> changed;
  std::vector<ExplainedKnob*> of;
  for (std::size_t i = 0; i < explanation.knobs.size(); ++i) {
    if (!explanation.knobs[i].ends) continue;
    changed.push_back(with_knob(request.layers.back(), request.table.knobs[i], accused));
    of.push_back(&explanation.knobs[i]);
  }
  if (changed.empty()) return;
  const auto tried = trials.run(
      {{request.declared->id + " (all of it with a setting)", request.declared, changed}});
  for (std::size_t i = 0; i < of.size(); ++i) {
    of[i]->ends = false;
    read_knob(tried.front()[i], fault, *of[i]);
  }
}

/// The case without its backward, which takes as long to compile as the rest of it. The case as it
/// is, if the divergence on `layer` or on the path is one of a gradient, or does not stay.
std::shared_ptr<const Case> without_backward(const ExplainRequest& request, const Path& layer,
                                             const Fault& on_layer, const Fault& fault,
                                             Trials& trials) {
  const bool may = request.declared->program.backward && fault.is_output() && on_layer.is_output();
  if (!may) return request.declared;
  auto forward = std::make_shared<Case>(*request.declared);
  forward->program.backward.reset();
  std::erase_if(forward->compare,
                [](const CompareRule& rule) { return rule.output.find('.') != std::string::npos; });
  std::vector<Path> paths{request.layers.back()};
  if (layer.name != paths.front().name) paths.push_back(layer);
  const auto tried =
      trials.run({{request.declared->id + " (without its backward)", forward, paths}});
  const auto stays = [](const Tried& one, const Fault& of) {
    return one.verdict && has(*one.verdict, of);
  };
  if (!stays(tried.front().front(), fault) || !stays(tried.front().back(), on_layer))
    return request.declared;
  return forward;
}

/// The case without something that may not be needed, and what to call that if it is.
struct Without {
  std::string condition;
  Case declared;
  Path path;
};

std::vector<Without> circumstances(const ExplainRequest& request, const Fault& fault) {
  std::vector<Without> all;
  const Case& declared = *request.declared;
  const Path& path = request.layers.back();
  const int asked = path.site.threads > 0 ? path.site.threads : declared.threads;
  const int threads = asked > 0 ? asked : request.threads;
  if (threads > 1) {
    Without one{fmt::format("{} threads", threads), declared, path};
    one.declared.threads = 1;
    one.path.site.threads = 0;
    all.push_back(std::move(one));
  }
  if (declared.calls.size() > 1 && fault.call < declared.calls.size()) {
    const CallSpec& call = declared.calls[fault.call];
    Without alone{"the calls before it", declared, path};
    alone.declared.calls = {call};
    alone.declared.program.carry.clear();
    all.push_back(std::move(alone));
    Without same{"values that change from call to call", declared, path};
    for (CallSpec& each : same.declared.calls) each = call;
    all.push_back(std::move(same));
    if (!declared.program.carry.empty()) {
      Without apart{"what a call hands to the next", declared, path};
      apart.declared.program.carry.clear();
      all.push_back(std::move(apart));
    }
  }
  const Json backend = path.declared.value("backend", Json());
  if (backend == "inductor") {
    Without cold{"what an earlier compilation left in the cache", declared, path};
    cold.path.declared["config"]["torch._inductor.config.force_disable_caches"] = true;
    all.push_back(std::move(cold));
  }
  return all;
}

/// The same difference in a program of one call has no call in its name.
bool has_anywhere(const Verdict& verdict, Fault fault) {
  const std::size_t last = fault.call;
  for (fault.call = 0; fault.call <= last; ++fault.call) {
    if (has(verdict, fault)) return true;
  }
  return false;
}

/// What the divergence needs: each is left out, and if it ends, it takes that.
void ask_conditions(const ExplainRequest& request, const Fault& fault, Questions& questions,
                    Explanation& explanation) {
  for (Without& one : circumstances(request, fault)) {
    one.declared.share = false;
    questions.ask(
        {fmt::format("{} (without {})", request.declared->id, one.condition),
         std::make_shared<const Case>(std::move(one.declared)),
         {one.path}},
        [&explanation, fault, condition = one.condition](const std::vector<Tried>& all) {
          const auto& verdict = all.front().verdict;
          if (!verdict) {
            explanation.open.push_back("whether it takes " + condition + ": no time");
          } else if (info(verdict->found.status).judged() && !has_anywhere(*verdict, fault)) {
            explanation.conditions.push_back(condition);
          }
        });
  }
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
  const Fault fault = fault_of(*top.verdict);
  explanation.output = fault.name;
  if (fault.magnitude) explanation.size = describe(fault);
  if (fault.status == Status::conform) explanation.policy = why_it_passes(*top.verdict, fault);
  const Path* layer = find_layer(request, layers, explanation);
  if (layer == nullptr) return end();
  const auto place = static_cast<std::size_t>(layer - request.layers.data());
  const Fault on_layer = fault_of(*layers[place].verdict);
  const auto declared = without_backward(request, *layer, on_layer, fault, trials);
  Suspect suspect{request.declared->id, declared, *layer,
                  request.registry,     on_layer, *layers[place].verdict};
  const SeenValues seen = find_operators(suspect, trials, explanation);
  read_numbers(suspect, seen, explanation);
  if (!top.diverges()) return end();
  Questions questions;
  ask_conditions(request, fault, questions, explanation);
  ask_knobs(request, declared, fault, questions, explanation);
  questions.answer(trials);
  if (declared != request.declared) confirm_knobs(request, fault, trials, explanation);
  if (!request.scratch.empty())
    explanation.pass = find_pass(suspect, request.table.bisected, request.scratch, trials);
  return end();
}

}  // namespace lockstep
