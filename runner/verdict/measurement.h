#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "verdict/status.h"

namespace lockstep {

/// What a rule of a policy counts or measures.
enum class Quantity {
  nothing,
  differing,
  unequal,
  nonfinite,
  ulp,
  outside,
  not_same,
  error,
  gross,
  rmse,
  beyond,
  without_gold,
  selection,
  repeated,
  mean,
  variance,
};

/// Everything that depends on a quantity alone.  The table in measurement.cpp is its only home.
struct QuantityInfo {
  Quantity quantity;
  std::string_view name;      ///< as in logs
  std::string_view measured;  ///< in Markdown, for the table in docs/reference/log.md
  std::string_view limit;     ///< likewise
};

/// All of them in the order of the enumeration.
std::span<const QuantityInfo> all_quantities();

std::string_view name_of(Quantity quantity);
std::optional<Quantity> find_quantity(std::string_view name);

/// The measurement of a leaf of a policy (any_of and all_of consist of leaves) and its limit, so
/// that a reader of a verdict can derive its status again. Of the tests of one rule it is the
/// one that failed, or, where all hold, the first.
struct Measurement {
  std::string policy;  ///< as in a case file: "close", "no_worse(1)"
  Quantity of = Quantity::nothing;
  double measured = 0;
  double limit = 0;
  bool ok = false;  ///< measured <= limit

  bool operator==(const Measurement&) const = default;
};

/// What a failed leaf means: nonfinite_diverges or value_diverges; conform of one that holds.
Status status_of(const Measurement& leaf);

}  // namespace lockstep
