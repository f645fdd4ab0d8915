#include "judge/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/text.h"
#include "judge/endings.h"
#include "judge/left_behind.h"
#include "judge/metadata.h"
#include "judge/numerics/classes.h"
#include "judge/proof.h"
#include "judge/results.h"
#include "judge/results_digest.h"

namespace lockstep {
namespace {

/// What the two eager executions do differently, apart from the text of an error; empty if nothing.
std::string harness_difference(const Observation& eager, const JudgeRequest& request) {
  const Observation* own = request.compiled->reference.get();
  if (own == nullptr || own == &eager || request.elsewhere) return "";
  if (own->outcome != eager.outcome) {
    const auto ending = [](const Observation& observation) {
      return observation.error ? "raises " + describe(*observation.error)
                               : std::string(name_of(observation.outcome));
    };
    return fmt::format("eager in C++ {}, in Python {}", ending(eager), ending(*own));
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

/// "y: 17 of 20 elements differ, … (policy bits) (and 2 more: z value differs, aliasing differs)".
std::string reason_of(const std::vector<Difference>& differences) {
  constexpr std::size_t kNamed = 3;
  const Difference& first = differences.front();
  std::string text = first.name.empty() ? "" : first.name + ": ";
  if (first.repetition > 0) text = fmt::format("repetition {}: {}", first.repetition, text);
  text += first.reason;
  std::vector<std::string> others;
  for (std::size_t i = 1; i < std::min(differences.size(), kNamed + 1); ++i) {
    const std::string& name = differences[i].name;
    const bool named = !name.empty() && differences[i].status != Status::aliasing_differs;
    others.push_back(
        fmt::format("{}{}", named ? name + " " : "", info(differences[i].status).label));
  }
  if (differences.size() > kNamed + 1) others.emplace_back("…");
  if (others.empty()) return text;
  return text + fmt::format(" (and {} more: {})", differences.size() - 1, fmt::join(others, ", "));
}

std::optional<Grade> worst_grade(const std::vector<OutputComparison>& outputs) {
  std::optional<Grade> worst;
  for (const OutputComparison& output : outputs) {
    worst = std::max(worst, output.grade);  // none is less than any
  }
  return worst;
}

/// The verdict where no results are compared.
void settle(Verdict& verdict, Status status, std::string reason) {
  verdict.status = status;
  verdict.reason = std::move(reason);
  const bool judged = status != Status::conform && info(status).rank != Rank::support;
  if (judged) verdict.differences = {{status, "", verdict.reason}};
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

/// All that is wrong with the executions of a program, of which `at` counts.
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
std::vector<Difference> in_order(const std::vector<Difference>& results, const Ending* error,
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

/// Who executed a program on a path that compiles; the verdict says it.
ExecutedBy note_execution(const JudgeRequest& request, Verdict& verdict) {
  if (!request.compiles) return {};
  ExecutedBy execution = executed_by(request.compiled->proof, request.worker_of_lockstep);
  verdict.execution = execution.how;
  verdict.share = execution.share;
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

/// Why it is not proven that what was judged is the compiler's work; empty: it is, or need not be.
std::vector<Difference> unproven_of(const Observation& compiled, Compilation compilation,
                                    const ExecutedBy& execution) {
  std::vector<Difference> unproven;
  if (compilation == Compilation::missing) {
    unproven.push_back({Status::not_compiled, "",
                        past_recompile_limit(compiled.proof)
                            ? "past the limit of recompiles the program ran eagerly"
                            : "the compiler was handed no graph"});
  } else if (!execution.fell_back.empty()) {
    unproven.push_back({Status::fell_back, "", execution.fell_back});
  }
  return unproven;
}

/// What is to be said of a verdict that conforms: what differs and was not promised, and whether it
/// is stable; `expected` is the repetition of eager that was compared with that of compiled.
void note_unpromised(const JudgeRequest& request, const Observation& eager, std::size_t expected,
                     std::size_t repetition, const std::string& noise, Verdict& verdict) {
  if (!request.unpromised_strides.empty()) {
    const std::string strides = stride_difference(
        eager.repetitions[expected], request.compiled->repetitions[repetition], request.strides);
    if (!strides.empty())
      verdict.reason = fmt::format("{}, which the path does not promise: {}", strides,
                                   one_line(request.unpromised_strides));
  }
  for (const OutputComparison& output : verdict.outputs) {
    const bool of_gradient = request.unpromised_bits.empty() && output.name.starts_with("grad ");
    const std::string& why =
        of_gradient ? request.unpromised_gradient_bits : request.unpromised_bits;
    if (output.differing == 0 || why.empty()) continue;
    verdict.reason = fmt::format("{}: bits differ, which the path does not promise: {}",
                                 output.name, one_line(why));
    break;
  }
  if (verdict.unstable) {
    verdict.reason = fmt::format("unstable: the compiled program disagrees with itself: {}", noise);
  }
  const auto weak = std::find_if(verdict.outputs.begin(), verdict.outputs.end(),
                                 [](const auto& output) { return !output.weak.empty(); });
  if (weak != verdict.outputs.end()) verdict.weak = weak->name + ": " + weak->weak;
}

/// Both returned, or compiled raised (`error`) when some of its calls were done: metadata, then the
/// error, masks and values, then proof, then noise.
void judge_results(const JudgeRequest& request, const Observation& eager,
                   const std::string& eager_noise, const Ending* error, Verdict& verdict) {
  const Observation& compiled = *request.compiled;
  const auto other_calls = [&](const auto& calls) {
    return calls.size() != eager.repetitions.front().size();
  };
  if (eager.repetitions.empty() || compiled.repetitions.empty() ||
      (error == nullptr &&
       std::any_of(compiled.repetitions.begin(), compiled.repetitions.end(), other_calls))) {
    return settle(verdict, Status::worker_lost, "eager and compiled record different calls");
  }
  const Repetition& expected = eager.repetitions.front();
  std::vector<JudgedExecution> executions;
  executions.push_back({0, compare_results(expected, compiled.repetitions.front(), request)});
  const bool whole = error == nullptr && executions.front().results.comparable;
  const std::string noise = whole ? self_disagreement(compiled, request) : "";
  verdict.unstable = !noise.empty();
  // What goes wrong from a later execution on is wrong: the worst one counts.
  std::size_t counts = 0;
  if ((verdict.unstable && eager_noise.empty()) || error != nullptr) {
    for (std::size_t i = 1; i < compiled.repetitions.size(); ++i) {
      if (i == request.reseeded) continue;
      executions.push_back({i, compare_results(expected, compiled.repetitions[i], request)});
      if (is_worse(executions[counts].results, executions.back().results))
        counts = executions.size() - 1;
    }
  }
  std::vector<Difference> others = left_behind(eager, compiled, request);
  if (error != nullptr) {
    for (Difference& left : left_after_error(eager, compiled, request))
      others.push_back(std::move(left));
  }
  if (auto other = judge_other_seeds(eager, request); other && eager_noise.empty()) {
    executions.push_back(std::move(*other));
    if (executions[counts].results.differences.empty() &&
        !executions.back().results.differences.empty()) {
      counts = executions.size() - 1;
    }
    for (Difference& same :
         compare_seeds(expected, eager.repetitions[request.reseeded], compiled.repetitions.front(),
                       compiled.repetitions[request.reseeded], request)) {
      others.push_back(std::move(same));
    }
  }
  const ResultComparison& results = executions[counts].results;
  const std::size_t repetition = executions[counts].repetition;
  std::vector<Difference> found = differences_of(executions, counts);
  found.insert(found.end(), others.begin(), others.end());
  sort_by_rank(found);
  verdict.outputs = std::move(executions[counts].results.outputs);
  verdict.grade = worst_grade(verdict.outputs);
  verdict.nearer = results.nearer;
  verdict.vacuous =
      !verdict.outputs.empty() &&
      std::all_of(verdict.outputs.begin(), verdict.outputs.end(), [](const auto& output) {
        return output.vacuous || output.name.starts_with("input ");
      });
  const bool proves = request.compiles && error == nullptr;
  const Compilation compilation = proves ? compilation_of(compiled.proof) : Compilation::given;
  const ExecutedBy execution = proves ? note_execution(request, verdict) : ExecutedBy();
  verdict.vacuous |=
      compilation == Compilation::vacuous || (compilation == Compilation::given && execution.idle);
  const std::vector<Difference> unproven = unproven_of(compiled, compilation, execution);
  verdict.differences = in_order(found, error, unproven, eager_noise);
  if (verdict.differences.empty())
    return note_unpromised(request, eager, repetition == request.reseeded ? repetition : 0,
                           repetition, noise, verdict);
  const Difference& first = verdict.differences.front();
  verdict.status = first.status;
  verdict.reason = reason_of(verdict.differences);
  const bool of_results = !first.name.empty();
  if (of_results && first.repetition == 0 && repetition > 0) {
    verdict.reason = fmt::format("repetition {}: {}", repetition + 1, verdict.reason);
  }
  if (of_results && info(first.status).rank > Rank::aliasing && !results.sentence.empty()) {
    const std::string& of = verdict.outputs[results.nearer_of].name;
    verdict.reason += "; " + (of == first.name ? "" : of + ": ") + results.sentence;
  }
}

}  // namespace

const Observation* reference_of(const JudgeRequest& request) {
  const Observation* own = request.compiled->reference.get();
  const bool usable = request.eager != nullptr && request.eager->outcome != Outcome::unsupported;
  return usable || own == nullptr || request.elsewhere ? request.eager : own;
}

Verdict judge(const JudgeRequest& request) {
  Verdict verdict;
  if (request.compiled == nullptr) {
    settle(verdict, Status::worker_lost, "the path was not observed");
    return verdict;
  }
  const Observation& compiled = *request.compiled;
  verdict.compiled_error = compiled.error;
  verdict.stage = compiled.stage;
  verdict.proof = compiled.proof;
  verdict.through_aot = went_through_aot(compiled.proof);
  verdict.phases = compiled.phases;
  const Observation* eager = reference_of(request);
  if (eager == nullptr) {
    settle(verdict, Status::unsupported, "there is no eager observation");
    verdict.unsupported_by = "reference";
    return verdict;
  }
  verdict.eager_error = eager->error;
  const std::string eager_noise = self_disagreement(*eager, request);
  if (eager_noise.empty()) verdict.eager_digest = results_digest(*eager);

  const std::optional<Ending> ending =
      judge_endings(*eager, compiled, {request.raises, request.refuses, request.compiles});
  verdict.front_end = request.compiles && is_of_front_end(compiled);
  const auto ended = [](const Observation& observation) {
    return observation.outcome == Outcome::returned || observation.outcome == Outcome::raised;
  };
  if (ending && (info(ending->status).crashed() || !ended(*eager) || !ended(compiled))) {
    settle(verdict, ending->status, ending->reason);
    if (ending->status == Status::unsupported)
      verdict.unsupported_by = eager->outcome == Outcome::unsupported ? "reference" : "path";
    return verdict;
  }

  if (eager_noise.empty()) {
    if (std::string difference = harness_difference(*eager, request); !difference.empty()) {
      settle(verdict, Status::harness, std::move(difference));
      return verdict;
    }
  }
  // What was there before the compiled program raised is judged, too.
  const bool partly = ending && info(ending->status).rank == Rank::error &&
                      eager->outcome == Outcome::returned && !compiled.repetitions.empty();
  if (ending && !partly) {
    settle(verdict, ending->status, ending->reason);
    const bool both = eager->outcome == Outcome::raised && compiled.outcome == Outcome::raised;
    // What eager does not implement it leaves as it likes; a refusal is none of eager's errors.
    if (both && eager->error->class_name != "NotImplementedError" &&
        (ending->status == Status::conform || ending->status == Status::error_differs)) {
      for (Difference& left : left_after_error(*eager, compiled, request))
        verdict.differences.push_back(std::move(left));
      if (verdict.status == Status::conform && !verdict.differences.empty()) {
        sort_by_rank(verdict.differences);
        verdict.status = verdict.differences.front().status;
        verdict.reason = fmt::format("{}; {}", reason_of(verdict.differences), ending->reason);
      }
    }
    // To raise what eager's kernel raised is no work of the path's, either.
    const std::string fell_back = note_execution(request, verdict).fell_back;
    if (verdict.status == Status::conform && !fell_back.empty())
      settle(verdict, Status::fell_back, fell_back);
  } else {
    judge_results(request, *eager, eager_noise, ending ? &*ending : nullptr, verdict);
  }
  if (verdict.status == Status::unsupported && ending)
    verdict.unsupported_by = ending->declared ? "declaration" : "reference";
  return verdict;
}

}  // namespace lockstep
