#include "judge/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "judge/left_behind.h"
#include "judge/metadata.h"
#include "judge/numerics/classes.h"
#include "judge/outcomes.h"
#include "judge/proof.h"
#include "judge/relations.h"
#include "judge/results.h"
#include "judge/results_digest.h"
#include "judge/warnings.h"

namespace lockstep {
namespace {

/// What the two eager executions do differently, apart from the text of an error; empty if nothing.
std::string harness_difference(const Observation& eager, const JudgeRequest& request) {
  const Observation* own = request.compiled->reference.get();
  if (own == nullptr || own == &eager || request.cross_device) return "";
  if (own->outcome != eager.outcome) {
    const auto manner = [](const Observation& observation) {
      return observation.error ? "raises " + describe(*observation.error)
                               : std::string(name_of(observation.outcome));
    };
    return fmt::format("eager in C++ {}, in Python {}", manner(eager), manner(*own));
  }
  if (eager.outcome == Outcome::raised) {
    if (!own->error || !eager.error) return "";
    if (own->error->class_name != eager.error->class_name) {
      return fmt::format("eager in C++ raises {}, in Python {}", describe(*eager.error),
                         describe(*own->error));
    }
    const std::vector<Difference> left = left_after_error(eager, *own, request);
    return left.empty() ? ""
                        : fmt::format("eager in C++ and in Python differ: {}", left.front().reason);
  }
  if (eager.repetitions.empty() || own->repetitions.empty()) return "";
  std::string name =
      first_disagreement(eager.repetitions.front(), own->repetitions.front(), request);
  if (const std::size_t r = request.reseeded;
      name.empty() && r > 0 && r < eager.repetitions.size() && r < own->repetitions.size()) {
    name = first_disagreement(eager.repetitions[r], own->repetitions[r], request);
  }
  if (!name.empty()) return fmt::format("eager in C++ and in Python differ: {}", name);
  const std::vector<Difference> left = left_behind(eager, *own, request);
  return left.empty() ? ""
                      : fmt::format("eager in C++ and in Python leave other states behind: {}",
                                    left.front().reason);
}

std::string self_disagreement(const Observation& observation, const JudgeRequest& request) {
  for (std::size_t i = 1; i < observation.repetitions.size(); ++i) {
    if (i == request.reseeded) continue;
    std::string name =
        first_disagreement(observation.repetitions.front(), observation.repetitions[i], request);
    if (!name.empty()) return name;
  }
  return "";
}

/// "y: 17 of 20 elements differ, … (policy bits) (and 2 more: z value diverges, aliasing
/// diverges)".
std::string reason_of(const std::vector<Difference>& differences) {
  constexpr std::size_t kNamed = 3;
  const Difference& first = differences.front();
  std::string text = first.name.empty() ? "" : first.name + ": ";
  if (first.repetition > 0) text = fmt::format("repetition {}: {}", first.repetition, text);
  text += first.reason;
  std::vector<std::string> others;
  for (std::size_t i = 1; i < std::min(differences.size(), kNamed + 1); ++i) {
    const std::string& name = differences[i].name;
    const bool named = !name.empty() && differences[i].status != Status::aliasing_diverges;
    others.push_back(
        fmt::format("{}{}", named ? name + " " : "", info(differences[i].status).label));
  }
  if (differences.size() > kNamed + 1) others.emplace_back("…");
  if (others.empty()) return text;
  return text + fmt::format(" ({}: {})", and_more(differences.size() - 1), fmt::join(others, ", "));
}

std::optional<Grade> worst_grade(const std::vector<OutputComparison>& outputs) {
  std::optional<Grade> worst;
  for (const OutputComparison& output : outputs) {
    worst = std::max(worst, output.grade);  // none is less than any
  }
  return worst;
}

/// The findings where no results are compared.
void settle(Findings& found, Status status, std::string reason) {
  found.status = status;
  found.reason = std::move(reason);
  const bool judged = status != Status::conform && info(status).rank != Rank::support;
  if (judged) found.differences = {{status, "", found.reason}};
}

/// Whether b is worse than a: by the status that counts, then by the grade.
bool is_worse(const ResultComparison& a, const ResultComparison& b) {
  const auto rank = [](const ResultComparison& results) {
    return results.differences.empty() ? Rank::nothing
                                       : info(results.differences.front().status).rank;
  };
  if (rank(a) != rank(b)) return rank(b) < rank(a);
  return worst_grade(a.outputs) < worst_grade(b.outputs);
}

/// One execution of all calls, compared; of several that were made.
struct JudgedExecution {
  std::size_t repetition;  ///< from 0
  ResultComparison results;
};

/// All faults of the executions of a program; `at` is the one that counts.
std::vector<Difference> differences_of(std::vector<JudgedExecution>& executions, std::size_t at) {
  std::vector<Difference> all = std::move(executions[at].results.differences);
  for (std::size_t i = 0; i < executions.size(); ++i) {
    if (i == at) continue;
    for (Difference& other : executions[i].results.differences) {
      const bool known = std::any_of(all.begin(), all.end(), [&](const Difference& difference) {
        return difference.status == other.status && difference.name == other.name;
      });
      if (known) continue;
      all.push_back(std::move(other));
      all.back().repetition = executions[i].repetition + 1;
    }
  }
  sort_by_rank(all);
  return all;
}

/// Puts in order what is wrong with the results, how the execution ended (null: it returned), what
/// is not proven, and that eager disagrees with itself (empty: it does not).
std::vector<Difference> in_order(const std::vector<Difference>& results,
                                 const OutcomeFinding* error,
                                 const std::vector<Difference>& unproven,
                                 const std::string& eager_noise) {
  // Metadata do not depend on the noise of values, and were there before the backward pass.
  const auto values = std::find_if(results.begin(), results.end(), [](const Difference& each) {
    return info(each.status).rank > Rank::aliasing;
  });
  std::vector<Difference> all(results.begin(), values);
  const auto add_error = [&] {
    if (error != nullptr) all.push_back({error->status, "", error->reason});
  };
  const auto add_unproven = [&] { all.insert(all.end(), unproven.begin(), unproven.end()); };
  // A refusal excuses nothing that went wrong before it; but where eager disagrees with itself, no
  // value is wrong.
  const bool excuse = error != nullptr && !info(error->status).fails && eager_noise.empty();
  if (!excuse) add_error();
  if (!eager_noise.empty()) {
    add_unproven();
    if (error == nullptr) {
      all.push_back(
          {Status::inconclusive, "", fmt::format("eager disagrees with itself: {}", eager_noise)});
    }
  }
  all.insert(all.end(), values, results.end());
  if (eager_noise.empty()) add_unproven();
  if (excuse) add_error();
  return all;
}

/// Who executed a program on a path that compiles; the findings say it.
ExecutedBy note_execution(const JudgeRequest& request, Findings& found) {
  if (!request.compiles) return {};
  ExecutedBy execution = executed_by(request.compiled->proof, request.worker_of_lockstep);
  found.execution = execution.how;
  found.foreign_fraction = execution.foreign_fraction;
  found.permitted_fraction = execution.permitted_fraction;
  return execution;
}

/// What only the execution with other seeds shows, if both sides made it: numbers that are drawn
/// once and for all are right the first time.
std::optional<JudgedExecution> judge_other_seeds(const Observation& eager,
                                                 const JudgeRequest& request) {
  const Observation& compiled = *request.compiled;
  const std::size_t at = request.reseeded;
  if (at == 0 || at >= eager.repetitions.size() || at >= compiled.repetitions.size()) return {};
  JudgedExecution other{
      at, compare_results(eager.repetitions[at], compiled.repetitions[at], request, at)};
  for (Difference& difference : other.results.differences)
    difference.reason = fmt::format("{} {}", kOtherSeed, difference.reason);
  return other;
}

/// All executions of the compiled program that are compared, and what is wrong besides.
struct Compared {
  std::vector<JudgedExecution> executions;
  std::size_t counts = 0;  ///< of `executions`, which one the findings show: the worst
  std::string noise;       ///< what the executions disagree about; empty: nothing
  std::vector<Difference> others;

  const JudgedExecution& shown() const { return executions[counts]; }
};

/// Faults besides the results of the calls: in the state that they left behind, and in the effect
/// of other seeds.
std::vector<Difference> beside_results(const JudgeRequest& request, const Observation& eager,
                                       bool raised, bool reseeded) {
  const Observation& compiled = *request.compiled;
  std::vector<Difference> others = left_behind(eager, compiled, request);
  const auto add = [&](std::vector<Difference> more) {
    others.insert(others.end(), std::make_move_iterator(more.begin()),
                  std::make_move_iterator(more.end()));
  };
  if (raised) add(left_after_error(eager, compiled, request));
  if (reseeded) {
    add(compare_seeds(eager.repetitions.front(), eager.repetitions[request.reseeded],
                      compiled.repetitions.front(), compiled.repetitions[request.reseeded],
                      request));
  }
  return others;
}

/// Compares the first execution; where executions disagree or the program raised, all of them; and
/// the one with other seeds.
Compared compare_executions(const JudgeRequest& request, const Observation& eager,
                            const std::string& eager_noise, bool raised) {
  const Observation& compiled = *request.compiled;
  const Repetition& expected = eager.repetitions.front();
  Compared out;
  out.executions.push_back({0, compare_results(expected, compiled.repetitions.front(), request)});
  const bool whole = !raised && out.executions.front().results.comparable;
  if (whole) out.noise = self_disagreement(compiled, request);
  // What goes wrong from a later execution on is wrong: the worst one counts.
  if ((!out.noise.empty() && eager_noise.empty()) || raised) {
    for (std::size_t i = 1; i < compiled.repetitions.size(); ++i) {
      if (i == request.reseeded) continue;
      out.executions.push_back({i, compare_results(expected, compiled.repetitions[i], request)});
      if (is_worse(out.shown().results, out.executions.back().results))
        out.counts = out.executions.size() - 1;
    }
  }
  auto other = judge_other_seeds(eager, request);
  const bool reseeded = other && eager_noise.empty();
  out.others = beside_results(request, eager, raised, reseeded);
  if (reseeded) {
    out.executions.push_back(std::move(*other));
    if (out.shown().results.differences.empty() &&
        !out.executions.back().results.differences.empty())
      out.counts = out.executions.size() - 1;
  }
  return out;
}

/// Whether agreement in all of these says little: each is vacuous, or an input beside outputs.  Of
/// a program that returns nothing, inputs are what counts.
bool is_vacuous(const std::vector<OutputComparison>& outputs) {
  const auto input = [](const OutputComparison& output) { return is_input(output.name); };
  const bool only_inputs = std::all_of(outputs.begin(), outputs.end(), input);
  return !outputs.empty() && std::all_of(outputs.begin(), outputs.end(), [&](const auto& output) {
    return output.vacuous || (!only_inputs && input(output));
  });
}

/// What of compilation and execution is not proven on a path that compiles; the findings say who
/// executed, and whether there was nothing to compile.
std::vector<Difference> find_unproven(const JudgeRequest& request, Findings& found) {
  const Observation& compiled = *request.compiled;
  const Compilation compilation = compilation_of(compiled.proof);
  const ExecutedBy execution = note_execution(request, found);
  found.vacuous |=
      compilation == Compilation::vacuous || (compilation == Compilation::given && execution.idle);
  if (compilation == Compilation::missing) {
    return {{Status::not_compiled, "",
             past_recompile_limit(compiled.proof)
                 ? "past the limit of recompiles the program ran eagerly"
                 : "the compiler was handed no graph"}};
  }
  if (!execution.fell_back.empty()) return {{Status::fell_back, "", execution.fell_back}};
  return {};
}

/// Remarks on a program that conforms.
void remark(const JudgeRequest& request, const Observation& eager, const Compared& compared,
            Findings& found) {
  const std::size_t repetition = compared.shown().repetition;
  if (!request.uncontracted_strides.empty()) {
    const std::string strides =
        stride_difference(eager.repetitions[repetition == request.reseeded ? repetition : 0],
                          request.compiled->repetitions[repetition], request.strides);
    if (!strides.empty())
      found.reason = fmt::format("{}, which the path's contract leaves out: {}", strides,
                                 one_line(request.uncontracted_strides));
  }
  for (const OutputComparison& output : found.outputs) {
    const bool of_gradient = request.uncontracted_bits.empty() && is_gradient(output.name);
    const std::string& why =
        of_gradient ? request.uncontracted_gradient_bits : request.uncontracted_bits;
    if (output.differing == 0 || why.empty()) continue;
    found.reason = fmt::format("{}: bits differ, which the path's contract leaves out: {}",
                               output.name, one_line(why));
    break;
  }
  if (found.unstable)
    found.reason = "unstable: the compiled program disagrees with itself: " + compared.noise;
  const auto weak = std::find_if(found.outputs.begin(), found.outputs.end(),
                                 [](const auto& output) { return !output.weak.empty(); });
  if (weak != found.outputs.end()) found.weak = weak->name + ": " + weak->weak;
}

/// The first difference decides the status, and the reason is about it.
void blame_first(const Compared& compared, Findings& found) {
  const ResultComparison& results = compared.shown().results;
  const std::size_t repetition = compared.shown().repetition;
  const Difference& first = found.differences.front();
  found.status = first.status;
  found.reason = reason_of(found.differences);
  const bool of_results = !first.name.empty();
  if (of_results && first.repetition == 0 && repetition > 0)
    found.reason = fmt::format("repetition {}: {}", repetition + 1, found.reason);
  const bool of_both =
      info(first.status).rank > Rank::aliasing && info(first.status).rank != Rank::relation;
  if (of_results && of_both && !results.sentence.empty()) {
    const std::string& of = found.outputs[results.nearer_of].name;
    found.reason += "; " + (of == first.name ? "" : of + ": ") + results.sentence;
  }
}

/// What the path breaks of its relations, beside all else that is `wrong`.
void add_relations(const JudgeRequest& request, const Observation& eager, Findings& found,
                   std::vector<Difference>& wrong) {
  JudgedRelations related = judge_relations(request, eager, *request.compiled);
  found.relations = std::move(related.found);
  for (const Difference& broken : related.differences) {
    const auto output = std::find_if(found.outputs.begin(), found.outputs.end(),
                                     [&](const auto& each) { return each.name == broken.name; });
    if (output != found.outputs.end() && output->status == Status::conform) {
      output->status = broken.status;
      output->reason = broken.reason;
    }
  }
  wrong.insert(wrong.end(), related.differences.begin(), related.differences.end());
}

/// Both returned, or compiled raised (`error`) when some of its calls were done: metadata, then the
/// error, masks and values, then proof, then noise.
void judge_results(const JudgeRequest& request, const Observation& eager,
                   const std::string& eager_noise, const OutcomeFinding* error, Findings& found) {
  const Observation& compiled = *request.compiled;
  const auto other_calls = [&](const auto& calls) {
    return calls.size() != eager.repetitions.front().size();
  };
  if (eager.repetitions.empty() || compiled.repetitions.empty() ||
      (error == nullptr &&
       std::any_of(compiled.repetitions.begin(), compiled.repetitions.end(), other_calls))) {
    return settle(found, Status::worker_lost, "eager and compiled record different calls");
  }
  Compared compared = compare_executions(request, eager, eager_noise, error != nullptr);
  std::vector<Difference> wrong = differences_of(compared.executions, compared.counts);
  wrong.insert(wrong.end(), compared.others.begin(), compared.others.end());
  found.unstable = !compared.noise.empty();
  found.outputs = std::move(compared.executions[compared.counts].results.outputs);
  if (error == nullptr && eager_noise.empty()) add_relations(request, eager, found, wrong);
  sort_by_rank(wrong);
  found.grade = worst_grade(found.outputs);
  found.nearer = compared.shown().results.nearer;
  found.vacuous = is_vacuous(found.outputs);
  std::vector<Difference> unproven;
  if (request.compiles && error == nullptr) unproven = find_unproven(request, found);
  found.differences = in_order(wrong, error, unproven, eager_noise);
  if (found.differences.empty()) return remark(request, eager, compared, found);
  blame_first(compared, found);
}

/// Why there is nothing to compare, by how both ended: somebody died, hung or does without.
bool settle_by_end(const Observation& eager, const Observation& compiled,
                   const OutcomeFinding& ending, Findings& found) {
  const auto ended = [](const Observation& observation) {
    return observation.outcome == Outcome::returned || observation.outcome == Outcome::raised;
  };
  if (!info(ending.status).crashed() && ended(eager) && ended(compiled)) return false;
  settle(found, ending.status, ending.reason);
  if (ending.status == Status::unsupported)
    found.unsupported_by =
        eager.outcome == Outcome::unsupported ? UnsupportedBy::reference : UnsupportedBy::path;
  return true;
}

/// One side raised, or both did, and nothing was there before: what is left behind is compared.
void judge_error(const JudgeRequest& request, const Observation& eager,
                 const OutcomeFinding& ending, Findings& found) {
  settle(found, ending.status, ending.reason);
  const bool both =
      eager.outcome == Outcome::raised && request.compiled->outcome == Outcome::raised;
  // What eager does not implement it leaves as it likes; a refusal is none of eager's errors.
  if (both && eager.error->class_name != "NotImplementedError" &&
      (ending.status == Status::conform || ending.status == Status::error_diverges)) {
    for (Difference& left : left_after_error(eager, *request.compiled, request))
      found.differences.push_back(std::move(left));
    if (found.status == Status::conform && !found.differences.empty()) {
      sort_by_rank(found.differences);
      found.status = found.differences.front().status;
      found.reason = fmt::format("{}; {}", reason_of(found.differences), ending.reason);
    }
  }
  // To raise what eager's kernel raised is no work of the path's, either.
  const std::string fell_back = note_execution(request, found).fell_back;
  if (found.status == Status::conform && !fell_back.empty())
    settle(found, Status::fell_back, fell_back);
}

}  // namespace

const Observation* reference_of(const JudgeRequest& request) {
  const Observation* own = request.compiled->reference.get();
  const bool usable = request.eager != nullptr && request.eager->outcome != Outcome::unsupported;
  return usable || own == nullptr || request.cross_device ? request.eager : own;
}

Findings judge(const JudgeRequest& request) {
  Findings found;
  if (request.compiled == nullptr) {
    settle(found, Status::worker_lost, "the path was not observed");
    return found;
  }
  const Observation& compiled = *request.compiled;
  found.compiled_error = compiled.error;
  found.stage = compiled.stage;
  found.proof = compiled.proof;
  found.through_aot = went_through_aot(compiled.proof);
  found.unsaid = unsaid_execution(compiled.proof);
  found.inputs_known = knew_inputs(compiled.proof);
  found.never_asked = request.compiles && !asked_backend(compiled.proof);
  const Observation* eager = reference_of(request);
  if (eager == nullptr) {
    settle(found, Status::unsupported, "there is no eager observation");
    found.unsupported_by = UnsupportedBy::reference;
    return found;
  }
  found.eager_error = eager->error;
  const std::string eager_noise = self_disagreement(*eager, request);
  if (eager_noise.empty()) found.eager_digest = results_digest(*eager);

  const std::optional<OutcomeFinding> outcome = judge_outcomes(*eager, compiled,
                                                               {.raises = request.raises,
                                                                .refuses = request.refuses,
                                                                .device = request.eager_device,
                                                                .compiles = request.compiles});
  found.front_end = request.compiles && is_of_front_end(compiled);
  if (outcome && settle_by_end(*eager, compiled, *outcome, found)) return found;
  if (eager_noise.empty()) {
    if (std::string difference = harness_difference(*eager, request); !difference.empty()) {
      settle(found, Status::harness, std::move(difference));
      return found;
    }
  }
  // What was there before the compiled program raised is judged, too.
  const bool partly = outcome && info(outcome->status).rank == Rank::error &&
                      eager->outcome == Outcome::returned && !compiled.repetitions.empty();
  if (outcome && !partly) {
    judge_error(request, *eager, *outcome, found);
  } else {
    judge_results(request, *eager, eager_noise, outcome ? &*outcome : nullptr, found);
  }
  if (!outcome) found.warnings = compare_warnings(compiled, request.reseeded);
  if (found.status == Status::unsupported && outcome)
    found.unsupported_by =
        outcome->declared ? UnsupportedBy::declaration : UnsupportedBy::reference;
  return found;
}

Findings unjudged(Status status, std::string reason, std::optional<UnsupportedBy> unsupported_by) {
  Findings found;
  found.status = status;
  found.reason = std::move(reason);
  found.unsupported_by = unsupported_by;
  return found;
}

}  // namespace lockstep
