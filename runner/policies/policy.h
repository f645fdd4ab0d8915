#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/gold.h"
#include "base/result.h"
#include "policies/rules.h"

namespace lockstep {

/// What a path claims of its results.
enum class Contract { bits, casts, values };

std::string_view name_of(Contract contract);

/// The contract of that name, or nothing.
std::optional<Contract> find_contract(std::string_view name);

/// The names of all contracts, strictest first.
std::vector<std::string> contract_names();

/// A rule under which two tensors agree.  Plain data; what each kind means is in the table in
/// policy.cpp, the checks are in judge/numerics/checks.cpp.
struct Policy {
  enum class Kind {
    bits,
    bits_strict,
    equal,
    ulp,            ///< `parameter` units in the last place
    close,          ///< with `rtol` and `atol`, or `terms`
    same,           ///< `parameter` is tol
    same_upstream,  ///< `parameter` is tol
    no_worse,       ///< `parameter` is k
    stepwise,       ///< `parameter` is n
    exact,
    decided,
    index_equivalent,  ///< `of` and `dim`
    metadata,
    statistical,  ///< `parameter` is p
    any_of,       ///< `children`
    all_of,       ///< `children`
  };
  Kind kind = Kind::bits;
  double parameter = 0;
  std::optional<double> rtol, atol;  ///< `close` only, both or none
  /// `close` only, "k=1024": terms summed for each element (k of a matmul, elements of a
  /// reduction); widens the tolerance as close.h says.
  std::optional<std::int64_t> terms;
  std::string of;                   ///< `index_equivalent`: name of the tensor that is indexed
  std::optional<std::int64_t> dim;  ///< `index_equivalent`: along which dimension
  std::vector<Policy> children;     ///< any_of, all_of
};

/// Reads "bits", "ulp(4)", "close(rtol=1e-3, atol=1e-5)", "any_of(close, no_worse(1))".  The error
/// says what was found and the nearest known name.
Result<Policy> parse_policy(std::string_view text);

/// The spelling that parse_policy reads.
std::string to_string(const Policy& policy);

/// The policy of a contract for an output of that dtype. For integers and bools: `exact` if the
/// contract is `bits`, else `decided`.
Policy default_policy(Contract contract, const struct Dtype& dtype);

/// The same with a path's declared tolerances: an output also conforms if `close` holds with one
/// for its dtype.
Policy tolerant(Policy agreed, const struct Dtype& dtype,
                std::span<const ToleranceRule> tolerances);

/// What may stand in the brackets after a policy's name.
enum class Brackets { none, count, number, probability, tolerance, tensor, policies };

/// What a policy judges.
enum class Judges {
  elements,  ///< at each position, NaN, +Inf and -Inf at equal positions first
  numbers,   ///< at each position, NaN and infinity in a way of its own
  tensors,   ///< as wholes
  children,  ///< what these do
};

/// Everything that depends on a policy's kind alone but its check, which is the judge's.  The table
/// in policy.cpp is its only home.
struct PolicyInfo {
  Policy::Kind kind;
  std::string_view name;
  Brackets brackets;
  /// Value of the parameter where the text gives none; NaN where it must be given.
  double fallback;
  Judges judges;
  GoldSet golds;                             ///< that it reads
  std::array<std::string_view, 3> examples;  ///< as a case may spell it; the rest is empty
  std::string_view written;  ///< in Markdown, for the table in docs/cases/policies.md
  std::string_view formula;  ///< when two tensors agree; likewise
};

/// All policies in the order of the enumeration.
std::span<const PolicyInfo> all_policies();

const PolicyInfo& info(Policy::Kind kind);

/// Which golds the policy reads, its children's among them.
GoldSet gold_needs(const Policy& policy);

/// Whether the policy judges elements by their positions, so that two executions must have the same
/// at each.
bool judges_positions(const Policy& policy);

}  // namespace lockstep
