#include "judge/numerics/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <type_traits>

#include "base/enum_table.h"
#include "judge/numerics/close.h"
#include "judge/numerics/decided.h"
#include "judge/numerics/indices.h"
#include "judge/numerics/no_worse.h"
#include "judge/numerics/same.h"
#include "judge/numerics/statistical.h"
#include "judge/numerics/stepwise.h"

namespace lockstep {
namespace {

using Kind = Policy::Kind;

CheckResult check_golds(Comparison& comparison, const Policy&) { return check_decided(comparison); }

CheckResult check_bits(Comparison& comparison, const Policy&) {
  const std::int64_t differing = comparison.pair().differing;
  return leaf(Quantity::differing, differing, 0,
              [&] { return comparison.of_all(differing) + " differ" + comparison.worst_place(); });
}

CheckResult check_bits_strict(Comparison& comparison, const Policy&) {
  const PairNumbers& numbers = comparison.pair();
  return leaf(Quantity::differing, numbers.payload_differing, 0, [&] {
    return comparison.of_all(numbers.payload_differing) +
           (numbers.differing == 0 ? " differ in the payload of a NaN" : " differ") +
           comparison.worst_place();
  });
}

/// c == e for every element; a NaN equals a NaN (a bool is its byte).
CheckResult check_equal(Comparison& comparison, const Policy&) {
  const std::int64_t unequal = comparison.pair().unequal;
  return leaf(Quantity::unequal, unequal, 0,
              [&] { return comparison.of_all(unequal) + " differ" + comparison.worst_place(); });
}

/// |ordered(c) - ordered(e)| <= n (numbers.h); the parts of complex elements one by one; integers:
/// |c - e| <= n.
CheckResult check_ulp(Comparison& comparison, const Policy& policy) {
  const std::uint64_t apart = comparison.pair().max_ulp;
  // What a double rounds down to the limit is beyond it all the same.
  const bool beyond = apart > static_cast<std::uint64_t>(policy.parameter);
  const double measured =
      beyond ? std::max(static_cast<double>(apart), std::nextafter(policy.parameter, HUGE_VAL))
             : static_cast<double>(apart);
  return leaf(Quantity::ulp, measured, policy.parameter, [&] {
    return fmt::format("up to {} ulp apart, {} allowed{}", apart, policy.parameter,
                       comparison.worst_place());
  });
}

CheckResult check_any_of(Comparison& comparison, const Policy& policy) {
  CheckResult first;
  std::vector<Measurement> leaves;
  for (const Policy& child : policy.children) {
    CheckResult result = comparison.check(child);
    leaves.insert(leaves.end(), result.leaves.begin(), result.leaves.end());
    if (result.holds()) return {Status::conform, "", std::move(leaves)};
    if (first.holds()) {
      first = std::move(result);
    } else if (const std::string place = comparison.worst_place();
               result.status == first.status && result.reason.ends_with(place)) {
      // The place has been named; this rule adds its measurement.
      result.reason.resize(result.reason.size() - place.size());
      if (!first.reason.ends_with(result.reason)) first.reason += "; " + result.reason;
    }
  }
  first.leaves = std::move(leaves);
  return first;
}

CheckResult check_all_of(Comparison& comparison, const Policy& policy) {
  std::vector<Measurement> leaves;
  for (const Policy& child : policy.children) {
    CheckResult result = comparison.check(child);
    leaves.insert(leaves.end(), result.leaves.begin(), result.leaves.end());
    if (!result.holds()) return {result.status, std::move(result.reason), std::move(leaves)};
  }
  return {Status::conform, "", std::move(leaves)};
}

/// A check that takes nothing of the policy but its parameter.
template <CheckResult (*check)(Comparison&, double)>
CheckResult by_parameter(Comparison& comparison, const Policy& policy) {
  return check(comparison, policy.parameter);
}

CheckResult check_same_by_steps(Comparison& comparison, double tol) {
  return check_same(comparison, tol, true);
}

/// Metadata are compared before any policy.
CheckResult check_nothing(Comparison&, const Policy&) {
  return leaf(Quantity::nothing, 0, 0, [] { return std::string(); });
}

struct CheckRow {
  Kind kind;
  std::remove_pointer_t<Check>& check;  // a reference: a row without a check does not compile
};
constexpr std::array kChecks = {
    CheckRow{Kind::bits, check_bits},
    CheckRow{Kind::bits_strict, check_bits_strict},
    CheckRow{Kind::equal, check_equal},
    CheckRow{Kind::ulp, check_ulp},
    CheckRow{Kind::close, check_close},
    CheckRow{Kind::same, by_parameter<check_same_by_steps>},
    CheckRow{Kind::same_upstream, by_parameter<check_same_upstream>},
    CheckRow{Kind::no_worse, by_parameter<check_no_worse>},
    CheckRow{Kind::stepwise, by_parameter<check_stepwise>},
    CheckRow{Kind::exact, check_equal},
    CheckRow{Kind::decided, check_golds},
    CheckRow{Kind::index_equivalent, check_indices},
    CheckRow{Kind::metadata, check_nothing},
    CheckRow{Kind::statistical, by_parameter<check_statistical>},
    CheckRow{Kind::any_of, check_any_of},
    CheckRow{Kind::all_of, check_all_of},
};
static_assert(has_every_row(kChecks, &CheckRow::kind));

}  // namespace

Check check_of(Kind kind) { return kChecks[static_cast<std::size_t>(kind)].check; }

}  // namespace lockstep
