#include "judge/numerics/checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/enum_table.h"
#include "judge/numerics/close.h"
#include "judge/numerics/indices.h"
#include "judge/numerics/no_worse.h"
#include "judge/numerics/same.h"
#include "judge/numerics/statistical.h"
#include "judge/numerics/stepwise.h"

namespace lockstep {
namespace {

using Kind = Policy::Kind;

CheckResult check_bits(Comparison& comparison, const Policy&) {
  const std::int64_t differing = comparison.pair().differing;
  if (differing == 0) return {};
  return comparison.differ(comparison.share(differing) + " differ");
}

CheckResult check_bits_strict(Comparison& comparison, const Policy&) {
  const PairNumbers& numbers = comparison.pair();
  if (numbers.payload_differing == 0) return {};
  return comparison.differ(
      comparison.share(numbers.payload_differing) +
      (numbers.differing == 0 ? " differ in the payload of a NaN" : " differ"));
}

/// c == e for every element; a NaN equals a NaN (a bool is its byte).
CheckResult check_equal(Comparison& comparison, const Policy&) {
  const std::int64_t unequal = comparison.pair().unequal;
  if (unequal == 0) return {};
  return comparison.differ(comparison.share(unequal) + " differ");
}

/// |ordered(c) - ordered(e)| <= n (numbers.h); the parts of complex elements one by one; integers:
/// |c - e| <= n.
CheckResult check_ulp(Comparison& comparison, const Policy& policy) {
  const std::uint64_t apart = comparison.pair().max_ulp;
  if (apart <= static_cast<std::uint64_t>(policy.parameter)) return {};
  return comparison.differ(fmt::format("up to {} ulp apart, {} allowed", apart, policy.parameter));
}

CheckResult check_any_of(Comparison& comparison, const Policy& policy) {
  CheckResult first;
  for (const Policy& child : policy.children) {
    CheckResult result = comparison.check(child);
    if (result.holds()) return result;
    if (first.holds()) {
      first = std::move(result);
    } else if (const std::string place = comparison.worst_place();
               result.status == first.status && result.reason.ends_with(place)) {
      // The place has been named; what remains is what this rule measured.
      result.reason.resize(result.reason.size() - place.size());
      if (!first.reason.ends_with(result.reason)) first.reason += "; " + result.reason;
    }
  }
  return first;
}

CheckResult check_all_of(Comparison& comparison, const Policy& policy) {
  for (const Policy& child : policy.children) {
    if (CheckResult result = comparison.check(child); !result.holds()) return result;
  }
  return {};
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
CheckResult check_nothing(Comparison&, const Policy&) { return {}; }

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
