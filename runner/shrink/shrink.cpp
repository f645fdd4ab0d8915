#include "shrink/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

#include "base/digest.h"
#include "base/text.h"
#include "cases/suite.h"
#include "cases/write.h"
#include "explain/operators.h"
#include "program/edit.h"
#include "shrink/candidates.h"
#include "shrink/tidy.h"

namespace lockstep {
namespace {

/// Candidates that are executed together; the first of them that diverges as it should is taken.
/// What shares a graph costs little more than one alone, as long as there are not too many steps.
/// The numbers are the same on every machine, so that the result is, too.
constexpr std::size_t kTogether = 4, kMostTogether = 24, kMostSteps = 100;

/// What a verdict is, for the journal: its status, and the class of the difference.
std::string key_of(const Verdict& verdict) {
  if (!info(verdict.found.status).diverges()) return std::string(info(verdict.found.status).name);
  const Fault fault = fault_of(verdict);
  return fmt::format("{}:{}", info(verdict.found.status).name, fault.kind);
}

/// What becomes smaller, the most important first; a case of the same size is no better, so that
/// the search ends.
using Size = std::tuple<std::size_t, std::size_t, std::int64_t, std::size_t, std::size_t>;

Size size_of(const Case& declared, const std::string& text) {
  std::size_t steps = step_count(declared.program), odd = 0;
  if (declared.prepare) steps += step_count(declared.prepare->program);
  for (const CallSpec& call : declared.calls) {
    for (const InputSpec& input : call.inputs) {
      const auto* spec = std::get_if<TensorSpec>(&input.value);
      if (spec == nullptr) continue;
      if (!spec->view_of.empty() || spec->strides != contiguous_strides(spec->shape)) ++odd;
      if (plainer_dtype(*spec->dtype) != nullptr) ++odd;
    }
  }
  return {steps, declared.calls.size(), element_count(declared), odd, text.size()};
}

class Shrinker {
 public:
  Shrinker(const ShrinkRequest& request, Trials& trials, Journal& journal)
      : request_(request), trials_(trials), journal_(journal) {}

  Shrunk run() {
    result_.declared = *request_.declared;
    const Tried first = execute(*request_.declared);
    if (!first.verdict) return std::move(result_);
    result_.first = result_.verdict = *first.verdict;
    result_.diverges = first.diverges();
    if (!result_.diverges) return std::move(result_);
    verdict_ = first.verdict;
    fault_ = fault_of(*first.verdict);
    key_ = key_of(*first.verdict);
    take_one_output();
    take_the_accused();
    bool any = true;
    while (any && !trials_.time_is_up()) {
      any = settle([&] { return simpler_settings(best(), request_.allow_drift); });
      any = settle([&] { return fewer_outputs(best()); }) || any;
      any = shrink_steps() || any;
      any = settle([&] { return fewer_arguments(best()); }) || any;
      any = shrink_inputs() || any;
    }
    result_.complete = !trials_.time_is_up();
    look_again();
    return std::move(result_);
  }

 private:
  struct Candidate {
    Case declared;
    std::string digest;  ///< for the journal
  };

  /// What a candidate is, or probably is.
  struct Likely {
    std::string key;  ///< empty: nothing is known of it
    std::optional<Verdict> verdict;
    bool sure = false;
  };

  const Case& best() const { return result_.declared; }

  /// Without the keys for people, and with those of a suite.
  static Case bare(Case declared) {
    declared.tags.clear();
    declared.only_paths.clear();
    declared.only_devices.clear();
    declared.unverified.clear();
    return declared;
  }

  Tried execute(const Case& declared, const GoldSet& golds = {}) {
    return trials_.run_one({request_.declared->id + " (shrunk)",
                            std::make_shared<const Case>(declared),
                            {request_.path}},
                           golds);
  }

  std::string digest_of(const std::string& text) const {
    // What counts as the same divergence decides what is remembered.
    return Digest()
        .add(text)
        .add(request_.path.declared.dump())
        .add(request_.torch)
        .add(request_.allow_drift ? "any" : fmt::format("{} {}", fault_.name, describe(fault_)))
        .hex();
  }

  /// Takes the first of the candidates that diverges as it should; says whether there is one.
  bool take(std::vector<Case> candidates) {
    std::vector<Candidate> fresh;
    std::set<std::string> seen;
    const Size size = size_of(best(), case_text(best()));
    for (Case& candidate : candidates) {
      if (!tidy(candidate, request_.registry) || !check_program(candidate.program)) continue;
      const auto lacks = [&](const auto& name) { return !contains(candidate.operators, name); };
      if (std::any_of(kept_.begin(), kept_.end(), lacks)) continue;
      const std::string text = case_text(candidate);
      if (size_of(candidate, text) >= size) continue;
      std::string digest = digest_of(text);
      if (seen.insert(digest).second &&
          faults_of(candidate, text, request_.registry, request_.python).empty())
        fresh.push_back({std::move(candidate), std::move(digest)});
    }
    for (std::size_t begin = 0, end = 0; begin < fresh.size(); begin = end) {
      if (trials_.time_is_up()) return false;
      end = end_of_batch(fresh, begin);
      std::vector<Likely> likely = glance(std::span(fresh).subspan(begin, end - begin));
      for (std::size_t i = begin; i < end; ++i) {
        if (likely[i - begin].key != key_) continue;
        if (!confirm(fresh[i], likely[i - begin])) continue;
        result_.declared = std::move(fresh[i].declared);
        verdict_ = std::move(likely[i - begin].verdict);
        if (request_.on_smaller) request_.on_smaller(best());
        return true;
      }
    }
    return false;
  }

  /// How many candidates, from one on, are executed together.
  std::size_t end_of_batch(const std::vector<Candidate>& candidates, std::size_t begin) const {
    std::size_t end = begin, steps = 0;
    while (end < candidates.size() && end - begin < kMostTogether) {
      const Case& next = candidates[end].declared;
      steps += step_count(next.program);
      if (end - begin >= kTogether && (!can_share(next) || steps > kMostSteps)) break;
      ++end;
    }
    return end;
  }

  /// Probable results of candidates: one that diverges in a graph with others may diverge only
  /// there.
  std::vector<Likely> glance(std::span<const Candidate> candidates) {
    std::vector<Likely> likely(candidates.size());
    std::vector<Trial> unknown;
    std::vector<std::size_t> of;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      ++result_.candidates;
      if (const auto remembered = journal_.find(candidates[i].digest)) {
        ++result_.remembered;
        likely[i] = {*remembered, {}, true};
        continue;
      }
      auto declared = std::make_shared<Case>(candidates[i].declared);
      declared->share = can_share(*declared);
      unknown.push_back({fmt::format("{} (smaller, {})", request_.declared->id, i + 1),
                         std::move(declared),
                         {request_.path}});
      of.push_back(i);
    }
    std::vector<std::vector<Tried>> tried = trials_.glance(unknown);
    for (std::size_t k = 0; k < of.size(); ++k) {
      std::optional<Verdict>& verdict = tried[k].front().verdict;
      if (!verdict) continue;  // no time: nothing is known of it
      Likely& each = likely[of[k]];
      each.key = remark(*verdict);
      each.sure = verdict->origin.shared == 0;
      each.verdict = std::move(verdict);
      if (each.sure || each.key != key_) journal_.add(candidates[of[k]].digest, each.key);
    }
    return likely;
  }

  /// Whether what probably diverges as it should does so alone.
  bool confirm(const Candidate& candidate, Likely& likely) {
    if (likely.sure) return true;
    likely.verdict = execute(candidate.declared).verdict;
    if (!likely.verdict) return false;
    likely.key = remark(*likely.verdict);
    journal_.add(candidate.digest, likely.key);
    return likely.key == key_;
  }

  /// Candidates of values may share a graph.  What fails otherwise would end the others' graph as
  /// well.
  bool can_share(const Case& declared) const {
    const bool value =
        key_.starts_with("value_diverges:") || key_.starts_with("nonfinite_diverges:");
    return value && declared.calls.size() == 1 && !declared.prepare && !declared.raises &&
           !declared.random;
  }

  /// Takes as long as there is something to take.
  template <class Make>
  bool settle(Make&& make) {
    bool any = false;
    while (!trials_.time_is_up() && take(make())) any = true;
    return any;
  }

  /// What eager computes on the way of the best case.
  GivenValues eager_values() {
    std::vector<std::string> names;
    for (const FlatStep& each : flatten(best().program.steps)) {
      for (std::string& name : results_of(each.step)) names.push_back(std::move(name));
    }
    Case plain = best();
    plain.raises.reset();
    const Observed observed = observe(plain, names, false, request_.registry);
    const Tried tried = trials_.run_one({request_.declared->id + " (eager)",
                                         std::make_shared<const Case>(observed.declared),
                                         {eager_path()}});
    GivenValues values;
    if (!tried.executed.eager || tried.executed.eager->outcome != Outcome::returned) return values;
    values.add(*tried.executed.eager, 0, true);
    for (const auto& [name, as] : observed.seen_as) {
      const auto value = values.of.find(as);
      if (value != values.of.end()) values.of.insert_or_assign(name, value->second);
    }
    return values;
  }

  /// Removes what only people and the suite need, and everything on which the wrong output does not
  /// depend.
  void take_one_output() {
    const Fault fault = fault_of(result_.first);
    Case plain = bare(best()), one = plain;
    std::vector<Case> candidates;
    if (fault.is_output() && contains(returned_values(one.program), fault.name) &&
        !one.program.backward) {
      one.program.outputs = returning({fault.name});
      candidates.push_back(std::move(one));
    }
    candidates.push_back(std::move(plain));
    take(std::move(candidates));
  }

  /// What `explain` accuses, as a program of its own on eager's values.
  void take_the_accused() {
    const std::vector<FlatStep> flat = flatten(best().program.steps);
    if (flat.size() < 2 || best().calls.size() > 1) return;
    Explanation explanation;
    const Suspect suspect{request_.declared->id,
                          std::make_shared<const Case>(best()),
                          request_.path,
                          request_.registry,
                          fault_of(result_.first),
                          result_.first,
                          true};
    const SeenValues seen = find_operators(suspect, trials_, explanation);
    std::vector<FlatStep> accused;
    std::set<std::string> used;
    std::sort(explanation.guilty.begin(), explanation.guilty.end());
    for (const std::size_t at : explanation.guilty) {
      accused.push_back(flat[at]);
      for (const std::string& name : uses_of(flat[at].step)) used.insert(name);
    }
    if (request_.same_operators) kept_ = operators_of(accused);
    if (accused.empty() || info(explanation.how).in_context) return;
    std::vector<std::string> outputs;
    for (const FlatStep& each : accused) {
      for (std::string& name : results_of(each.step)) {
        if (!used.contains(name)) outputs.push_back(std::move(name));
      }
    }
    std::vector<Case> candidates;
    // The policy stays what it is: another one asks another question.
    auto part =
        part_of(best(), accused, outputs, seen.eager, suspect.fault.bits, suspect.fault.call);
    if (part) candidates.push_back(std::move(*part));
    if (request_.allow_drift && !suspect.fault.bits) {
      part = part_of(best(), accused, outputs, seen.eager, true, suspect.fault.call);
      if (part) candidates.push_back(std::move(*part));
    }
    take(std::move(candidates));
  }

  bool shrink_steps() {
    bool any = false, more = true;
    while (more && !trials_.time_is_up()) {
      if (flatten(best().program.steps).size() < 2) break;
      const GivenValues eager = eager_values();
      more = take(cut_steps(best(), eager)) || take(bypassed_steps(best(), eager));
      any = any || more;
    }
    return any;
  }

  bool shrink_inputs() {
    bool any = false;
    if (best().prepare) any = take({with_literal_inputs(best(), eager_values())});
    for (bool more = true; more && !trials_.time_is_up();) {
      if (!verdict_) verdict_ = execute(best()).verdict;
      if (!verdict_ || remark(*verdict_) != key_) break;
      const Fault fault = fault_of(*verdict_);
      const OutputComparison* output = comparison_of(*verdict_, fault.name, fault.call);
      more =
          take(narrowed(best(), output == nullptr ? std::vector<std::int64_t>() : output->worst));
      any = any || more;
    }
    any = settle([&] { return plainer_layouts(best()); }) || any;
    any = settle([&] { return plainer_dtypes(best()); }) || any;
    return settle([&] { return simpler_values(best()); }) || any;
  }

  /// The smallest case as it will be read from its file, alone.
  void look_again() {
    if (!verdict_) verdict_ = execute(best()).verdict;
    if (verdict_) result_.verdict = *verdict_;
  }

  /// What the journal remembers of a candidate: `key_` alone where it diverges as it should.
  std::string remark(const Verdict& verdict) const {
    std::string key = key_of(verdict);
    if (key == key_ && !request_.allow_drift && !has_it(verdict)) key += ", otherwise";
    return key;
  }

  /// Whether a verdict has the divergence, wherever: a part of the program calls its output
  /// otherwise.
  bool has_it(const Verdict& verdict) const {
    if (has(verdict, fault_)) return true;
    Fault other = fault_;
    const Fault found = fault_of(verdict);
    other.name = found.name;
    other.call = found.call;
    // What is smaller may be without the output; that of a part of it has another name.
    const bool may_move = fault_.is_output() && found.is_output() &&
                          comparison_of(verdict, fault_.name, fault_.call) == nullptr;
    return may_move && has(verdict, other);
  }

  const ShrinkRequest& request_;
  Trials& trials_;
  Journal& journal_;
  Shrunk result_;
  Fault fault_;

  std::optional<Verdict> verdict_;  ///< of the best case, alone; empty: the journal knew what it is
  std::string key_;
  std::vector<std::string> kept_;  ///< operators that must stay
};

}  // namespace

Diagnostics faults_of(const Case& declared, const std::string& text, const Registry* registry,
                      const PythonOperators* python) {
  Diagnostics diagnostics;
  std::vector<CaseFile> files;
  JsonFile file{"shrunk.json", text, {}};
  if (const auto beside = files_of(declared); !beside.empty())
    file.place = beside.begin()->second.place;
  files.push_back(parse_case_file(std::move(file), diagnostics));
  if (diagnostics.empty()) check_instances(files.front(), registry, diagnostics, python);
  return diagnostics;
}

std::size_t step_count(const Program& program) { return flatten(program.steps).size(); }

std::int64_t element_count(const Case& declared) {
  std::int64_t count = 0;
  for (const CallSpec& call : declared.calls) {
    for (const InputSpec& input : call.inputs) {
      const auto* spec = std::get_if<TensorSpec>(&input.value);
      std::int64_t elements = 1;
      if (spec != nullptr) {
        for (const std::int64_t size : spec->shape) elements *= size;
      }
      count += elements;
    }
  }
  return count;
}

Shrunk shrink(const ShrinkRequest& request, Trials& trials, Journal& journal) {
  return Shrinker(request, trials, journal).run();
}

}  // namespace lockstep
