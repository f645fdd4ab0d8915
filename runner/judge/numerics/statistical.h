#pragma once

#include "judge/numerics/compare.h"

namespace lockstep {

/// Two samples e (n elements) and c (m) come from one distribution, as far as these moments tell.
/// With p the probability of a false alarm that the policy states, each of three tests gets p / 3
/// and z is the two-sided normal quantile for it (p = 1e-9: z = 6.3):
///   share of non-finite   |s_c - s_e| <= z sqrt(s (1 - s) (1/n + 1/m)),  s pooled
///   mean                  |m_c - m_e| <= z sqrt(v_e/n + v_c/m)
///   variance              |v_c - v_e| <= z sqrt((k_e - v_e^2)/n + (k_c - v_c^2)/m) + z^2 (v_e/n +
///   v_c/m),  k the fourth central moment
/// The last term is the second order, without which a fair coin's variance would be false alarms
/// only.  The bound on false alarms is that of the normal approximation, so the moments of fewer
/// than 64 elements are not judged; there only numbers that are not finite where eager has none
/// differ.  Two distributions with the same mean and variance are not told apart.
CheckResult check_statistical(Comparison& comparison, double false_alarm);

/// z with P(|N(0, 1)| > z) = probability.
double normal_quantile(double probability);

/// The least number of elements whose moments check_statistical judges.
inline constexpr std::int64_t kLeastSample = 64;

}  // namespace lockstep
