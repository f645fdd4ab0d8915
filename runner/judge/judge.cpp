#include "judge/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "judge/endings.h"
#include "judge/numerics/classes.h"
#include "judge/proof.h"
#include "judge/results.h"

namespace lockstep {
namespace {

/// What the two eager executions do differently, apart from the text of an error; empty if nothing.
std::string harness_difference(const Observation& eager, const JudgeRequest& request) {
  const Observation* own = request.compiled->reference.get();
  if (own == nullptr || own == &eager) return "";
  if (own->outcome != eager.outcome) {
    const auto ending = [](const Observation& observation) {
      return observation.error ? "raises " + describe(*observation.error)
                               : std::string(name_of(observation.outcome));
    };
    return fmt::format("eager in C++ {}, in Python {}", ending(eager), ending(*own));
  }
  if (eager.outcome == Outcome::raised) {
    if (!own->error || !eager.error || own->error->class_name == eager.error->class_name) return "";
    return fmt::format("eager in C++ raises {}, in Python {}", describe(*eager.error),
                       describe(*own->error));
  }
  if (eager.repetitions.empty() || own->repetitions.empty()) return "";
  const std::string name =
      first_disagreement(eager.repetitions.front(), own->repetitions.front(), request);
  return name.empty() ? "" : fmt::format("eager in C++ and in Python differ: {}", name);
}

std::string self_disagreement(const Observation& observation, const JudgeRequest& request) {
  for (std::size_t i = 1; i < observation.repetitions.size(); ++i) {
    std::string name =
        first_disagreement(observation.repetitions.front(), observation.repetitions[i], request);
    if (!name.empty()) return name;
  }
  return "";
}

/// "y: 17 of 20 elements differ, … (policy bits) (and 2 more outputs)", of a pointwise case
/// followed by ": 12 NaN, 5 last bits".
std::string reason_of(const std::vector<OutputComparison>& outputs, const OutputComparison& worst,
                      bool pointwise) {
  std::string text = fmt::format("{}: {}", worst.name, worst.reason);
  if (worst.status == Status::value_differs || worst.status == Status::nonfinite_differs) {
    text += fmt::format(" (policy {})", worst.policy);
  }
  const auto wrong = std::count_if(outputs.begin(), outputs.end(), [](const auto& output) {
    return output.status != Status::conform;
  });
  if (wrong > 1) text += fmt::format(" (and {} more)", wrong - 1);
  if (pointwise && worst.differing > 0) text += ": " + describe(worst.classes);
  return text;
}

std::optional<Grade> worst_grade(const std::vector<OutputComparison>& outputs) {
  std::optional<Grade> worst;
  for (const OutputComparison& output : outputs) {
    if (output.grade && (!worst || *output.grade > *worst)) worst = output.grade;
  }
  return worst;
}

void settle(Verdict& verdict, Status status, std::string reason) {
  verdict.status = status;
  verdict.reason = std::move(reason);
}

const OutputComparison* worst_of(const std::vector<OutputComparison>& outputs) {
  const auto worst = std::min_element(
      outputs.begin(), outputs.end(),
      [](const auto& a, const auto& b) { return info(a.status).rank < info(b.status).rank; });
  return worst == outputs.end() || worst->status == Status::conform ? nullptr : &*worst;
}

/// Whether b is worse than a: by the status of the worst output, then by the grade.
bool is_worse(const ResultComparison& a, const ResultComparison& b) {
  const auto rank = [](const ResultComparison& results) {
    const OutputComparison* worst = worst_of(results.outputs);
    return info(worst == nullptr ? Status::conform : worst->status).rank;
  };
  if (rank(a) != rank(b)) return rank(b) < rank(a);
  return worst_grade(a.outputs) < worst_grade(b.outputs);
}

/// Nothing for a path that does not compile.
Execution execution_seen(const JudgeRequest& request) {
  return request.compiles ? execution_of(request.compiled->proof, request.worker_of_lockstep)
                          : Execution();
}

/// What conforms because others executed it says nothing of the path.
void judge_execution(const Execution& execution, Verdict& verdict) {
  verdict.execution = execution.how;
  verdict.share = execution.share;
  if (verdict.status == Status::conform && !execution.fell_back.empty())
    settle(verdict, Status::fell_back, execution.fell_back);
}

/// Both returned: metadata, masks and values, then proof, then noise.
void judge_results(const JudgeRequest& request, const Observation& eager,
                   const std::string& eager_noise, Verdict& verdict) {
  const Observation& compiled = *request.compiled;
  if (eager.repetitions.empty() || compiled.repetitions.empty() ||
      std::any_of(compiled.repetitions.begin(), compiled.repetitions.end(), [&](const auto& calls) {
        return calls.size() != eager.repetitions.front().size();
      })) {
    return settle(verdict, Status::worker_lost, "eager and compiled record different calls");
  }
  const Repetition& expected = eager.repetitions.front();
  ResultComparison results = compare_results(expected, compiled.repetitions.front(), request);
  // Where metadata differ from eager's, nothing bounds what there would be to compare.
  const OutputComparison* of_first = worst_of(results.outputs);
  const bool comparable = of_first == nullptr || of_first->status != Status::metadata_differs;
  const std::string noise = comparable ? self_disagreement(compiled, request) : "";
  verdict.unstable = !noise.empty();
  // What goes wrong from a later execution on is wrong: the worst one counts.
  std::size_t counts = 0;
  if (verdict.unstable && eager_noise.empty()) {
    for (std::size_t i = 1; i < compiled.repetitions.size(); ++i) {
      ResultComparison later = compare_results(expected, compiled.repetitions[i], request);
      if (!is_worse(results, later)) continue;
      results = std::move(later);
      counts = i;
    }
  }
  verdict.outputs = std::move(results.outputs);
  verdict.grade = worst_grade(verdict.outputs);
  verdict.nearer = results.nearer;
  if (const OutputComparison* worst = worst_of(verdict.outputs)) {
    settle(verdict, worst->status, reason_of(verdict.outputs, *worst, request.pointwise));
    if (counts > 0) verdict.reason = fmt::format("repetition {}: {}", counts + 1, verdict.reason);
    if (!results.sentence.empty()) {
      const std::string& of = verdict.outputs[results.nearer_of].name;
      verdict.reason += "; " + (of == worst->name ? "" : of + ": ") + results.sentence;
    }
  }

  verdict.vacuous =
      !verdict.outputs.empty() &&
      std::all_of(verdict.outputs.begin(), verdict.outputs.end(), [](const auto& output) {
        return output.vacuous || output.name.starts_with("input ");
      });
  const Compilation compilation =
      request.compiles ? compilation_of(compiled.proof) : Compilation::given;
  const Execution execution = execution_seen(request);
  verdict.vacuous |=
      compilation == Compilation::vacuous || (compilation == Compilation::given && execution.idle);
  if (verdict.status == Status::conform && compilation == Compilation::missing) {
    settle(verdict, Status::not_compiled,
           past_recompile_limit(compiled.proof)
               ? "past the limit of recompiles the program ran eagerly"
               : "the compiler was handed no graph");
  }
  judge_execution(execution, verdict);

  if (verdict.unstable && verdict.status == Status::conform) {
    verdict.reason = fmt::format("unstable: the compiled program disagrees with itself: {}", noise);
  }
  // Metadata and proof do not depend on the noise of values.
  if (!eager_noise.empty() && verdict.status != Status::metadata_differs &&
      verdict.status != Status::not_compiled && verdict.status != Status::fell_back) {
    settle(verdict, Status::inconclusive,
           fmt::format("eager disagrees with itself: {}", eager_noise));
  }
}

}  // namespace

const Observation* reference_of(const JudgeRequest& request) {
  const Observation* own = request.compiled->reference.get();
  const bool usable = request.eager != nullptr && request.eager->outcome != Outcome::unsupported;
  return usable || own == nullptr ? request.eager : own;
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
    return verdict;
  }
  verdict.eager_error = eager->error;

  const std::optional<Ending> ending =
      judge_endings(*eager, compiled, request.raises, request.compiles);
  if (ending && !info(ending->status).ended_by_itself()) {
    settle(verdict, ending->status, ending->reason);
    return verdict;
  }
  const std::string eager_noise = self_disagreement(*eager, request);
  if (eager_noise.empty()) {
    if (std::string difference = harness_difference(*eager, request); !difference.empty()) {
      settle(verdict, Status::harness, std::move(difference));
      return verdict;
    }
  }
  if (ending) {
    settle(verdict, ending->status, ending->reason);
    judge_execution(execution_seen(request), verdict);
    return verdict;
  }
  judge_results(request, *eager, eager_noise, verdict);
  return verdict;
}

}  // namespace lockstep
