#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lockstep {

/// What a path claims of its results.
enum class Promise { bits, casts, values };

std::string_view name_of(Promise promise);

/// The promise of that name, or nothing.
std::optional<Promise> find_promise(std::string_view name);

/// A rule under which two tensors agree.  Plain data; the formulas are in compare.h.
struct Policy {
  enum class Kind {
    bits,           ///< the same bits; any NaN equals any NaN
    bits_strict,    ///< the same bits, NaN payloads too
    equal,          ///< ==, so -0 equals +0; any NaN equals any NaN
    ulp,            ///< at most `parameter` units in the last place apart
    close,          ///< torch.testing.assert_close's table by dtype; or with explicit rtol and atol
    same,           ///< PyTorch's accuracy gate, hardened; `parameter` is tol
    same_upstream,  ///< PyTorch's accuracy gate, as it is; `parameter` is tol
    no_worse,       ///< error against the fp64 gold at most `parameter` times eager's, and hardly
                    ///< more elements grossly wrong
    stepwise,       ///< error against the stepwise gold at most `parameter` ulp more than eager's
    exact,          ///< integers, bools: the same number
    index_equivalent,  ///< indices that select equal values
    metadata,          ///< dtype, shape and the rest; no values
    statistical,       ///< the same distribution
    any_of,
    all_of,
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

/// The policy that a promise means for an output of that dtype: exact for what is neither floating
/// nor complex.
Policy default_policy(Promise promise, const struct Dtype& dtype);

/// Which golds the policy reads.
struct GoldNeeds {
  bool fp64 = false;
  bool stepwise = false;
};
GoldNeeds gold_needs(const Policy& policy);

}  // namespace lockstep
