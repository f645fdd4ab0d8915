#pragma once

#include <string>

#include "judge/numerics/compare.h"

namespace lockstep {

/// Why it says little that an output conforms although it differs; empty where it says something.
/// `result` is what its policy answered.
///
///   signs      only the sign of zero differs.
///   gold       Every rule that holds measures against a gold (no_worse, stepwise, the RMSE of
///              same), eager and compiled are not even `close`, and eager itself is far from the
///              gold: max|e - g| > max|g| / 8, or more than one number in 32 is grossly wrong.  An
///              eighth is what gold.h calls gross, and honest chains in bfloat16, the noisiest that
///              there are, have fewer than 3% of such numbers (measured there).
///   tolerance  Every rule that holds has an absolute tolerance (close, same), and that alone lets
///              the difference pass: max|d| > t max|x|, or every number that differs does so by
///              more than t |x|, x the greater of both sides.  t is the rule's rtol, at least 64
///              times that of the dtype's `close` (or of one ulp, where that has none), but 1/8 at
///              most: six bits are lost then, where rounding in another order loses two or three.
///              A sum that cancels does not make an output weak, for its neighbours agree.
std::string weakness(Comparison& comparison, const CheckResult& result);

}  // namespace lockstep
