#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cases/relations.h"
#include "policies/policy.h"
#include "policies/rules.h"
#include "verdict/verdict.h"
#include "wire/observation.h"

namespace lockstep {

/// Eager and the path were executed on two devices, at two CPU levels or with other numbers of
/// threads.  Device names, random state and the worker's own eager are then not compared.
struct CrossDevice {
  std::string eager_device, device;
};

/// Both sides, executed in other circumstances: what they return has to stay.
struct OtherExecution {
  RelationKind kind;
  const Observation* eager = nullptr;
  const Observation* compiled = nullptr;
};

/// Everything that the judge needs to know besides the observations.
struct JudgeRequest {
  const Observation* eager = nullptr;     ///< by lockstep-eager: the reference
  const Observation* compiled = nullptr;  ///< by the path on trial
  /// Golds; null where not made.  Where the fp64 gold on inputs moved by one unit in the last place
  /// moves the result further than eager and compiled are apart, the case is ill-conditioned
  /// (gold.h).  What errors as small as any implementation's make of a gold is a sample in each
  /// repetition (numerics/noise.h); of executions with other seeds, the second half.
  PerGold<const Observation*> golds;
  /// The inputs of each call as they were before it.  Optional; with it, an input that eager left
  /// alone must have the same bits after the compiled program, whatever the policy.
  const std::vector<NamedValues>* inputs = nullptr;
  /// From the second call on, inputs that are what a value was after the call before, each side's
  /// own (Program::carry); null: there are none.
  const std::vector<std::pair<std::string, std::string>>* carry = nullptr;
  /// What is handed from call to call lets errors grow: so many times further from the gold than
  /// eager's is no fault then; each call is judged from eager's state besides. 0: nothing grows.
  double growth = 0;
  /// What calls have to give that stand behind the case's own; null: nothing.
  const std::vector<RelationOfCalls>* relations = nullptr;
  std::vector<OtherExecution> others;
  std::vector<std::string> keeps;  ///< the relations that the path keeps
  /// Policy that the case asks for an output ("y", "grad x", "input x") on this path, or empty: the
  /// contract decides.
  std::function<std::optional<Policy>(std::string_view output)> policy_of;
  Contract contract = Contract::values;
  StrideRule strides = StrideRule::significant;
  /// Why the path's contract leaves strides out, or empty: else those that differ are not held
  /// against it, and the verdict says so.
  std::string uncontracted_strides;
  /// Why `contract` is weaker than the path's, or empty: then bits that differ are said to be so.
  std::string uncontracted_bits;
  /// Why of gradients the contract is no more than `values`, or empty.
  std::string uncontracted_gradient_bits;
  /// How far results may be off besides, where the case asks for no policy.
  std::span<const ToleranceRule> tolerances;
  std::optional<RaisesRule> raises;
  std::string eager_device = "cpu";
  std::span<const RefusalRule> refuses;  ///< that the path declares
  /// Element k of every output depends on element k of the inputs alone (case.h).
  bool pointwise = false;
  std::optional<CrossDevice> cross_device;  ///< nothing: eager was executed where the path was
  /// Whether the path claims to compile: then proof is demanded.
  bool compiles = true;
  /// Whether the path draws random numbers of its own: the generators' states are not compared.
  bool own_random = false;
  /// Which repetition, from 0, had other seeds than those before it; 0: none.
  std::size_t reseeded = 0;
  /// Whether the worker is one of Lockstep's: what another says of who executed is `stated`.
  bool worker_of_lockstep = true;
};

/// How the strides of the path are compared: as the case says, unless they are not in the contract.
inline StrideRule stride_rule(const JudgeRequest& request) {
  return request.uncontracted_strides.empty() ? request.strides : StrideRule::ignore;
}

/// Which observation the path is measured against: C++ eager, or the worker's own where C++ eager
/// has no spelling for the program and was executed where the path was; nullptr if there is none.
/// `compiled` is not null.
const Observation* reference_of(const JudgeRequest& request);

/// Compares two observations in the order of the design: outcomes, metadata, masks, values, what
/// calls left behind, proof, noise.  Of a compiled program that disagrees with itself, where eager
/// does not, every execution is compared and the worst counts.
Findings judge(const JudgeRequest& request);

/// What there is to find where nothing was executed, or not to an end.
Findings unjudged(Status status, std::string reason,
                  std::optional<UnsupportedBy> unsupported_by = {});

}  // namespace lockstep
