#pragma once

#include "cases/case.h"
#include "cases/random_stream.h"

namespace lockstep {

/// Element k of the fill `stratified`.  Floats walk through every (sign, exponent) pair in turn;
/// their first mantissas are boundaries, the others random, every second one with a tail at or next
/// to a rounding tie.  Integers: the limits, then random lengths with both signs and the same
/// tails.  Booleans alternate; the parts of complex numbers are independent.
ElementBits stratified_element(const Dtype& dtype, const RandomStream& stream, std::uint64_t k);

}  // namespace lockstep
