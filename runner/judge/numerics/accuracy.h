#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/numerics/compare.h"
#include "verdict/verdict.h"
#include "wire/tensor.h"

namespace lockstep {

/// The inputs of a pointwise case, by name, that have the shape of the output in question; their
/// elements at an index are what the output's element there was computed from.
using PointwiseInputs = std::vector<std::pair<std::string, const TensorView*>>;

/// The first elements (four at most, in the order of the index) that are not bit-equal, a NaN being
/// equal to a NaN.
std::vector<FirstDifference> first_differences(const TensorView& eager, const TensorView& compiled,
                                               const PointwiseInputs& inputs);

/// Whether the errors of that dtype can be told in ulp of a gold in double: if it is narrower, or
/// if the gold is known to be rounded once (`origin`, else null).
bool has_accuracy(const Dtype& dtype, const ValueOrigin* origin);

/// The greatest errors of both sides, for each kind of inputs that occurs, and of what differs (but
/// in the sign of zero).  All have one shape;
/// `eager` and `compiled` are of a dtype that has_accuracy.  The error of a result r where the gold
/// is g, in ulp of the dtype:
///
///   g NaN or infinite, in the gold itself   0 if r is g rounded to the dtype, else infinity
///   g finite, r not                         0 if g overflows in the dtype to just that, else
///                                           infinity
///   both finite                             |r - g| / ulp(g), ulp(g) = ulp_at (numbers.h), at most
///                                           that of the greatest finite number; +0 is -0
std::vector<Accuracy> accuracy(const TensorView& eager, const TensorView& compiled,
                               const TensorView& gold, const PointwiseInputs& inputs);

/// The same errors along the first of the inputs that is floating and real, each rounded to three
/// digits; elements whose input there is NaN or infinite are left out.  Nothing of fewer than 256
/// elements, or without such an input.
std::optional<ErrorCurve> error_curve(const TensorView& eager, const TensorView& compiled,
                                      const TensorView& gold, const PointwiseInputs& inputs);

/// Who is nearer by the row kDiffering of a dtype; empty where the sides are no further apart than
/// twice the gold's own error (`origin`, null: torch's float64 kernels, of narrower dtypes only).
NearerSide nearer_side(const Accuracy& differing, const Dtype& dtype, const ValueOrigin* origin);

}  // namespace lockstep
