#include "verdict/measurement.h"

#include <array>

#include "base/enum_table.h"

namespace lockstep {
namespace {

using enum Quantity;

constexpr std::string_view kNone = "0";

// Columns: quantity, name, measured, limit.
constexpr std::array kQuantities = {
    QuantityInfo{nothing, "nothing", "values are not compared", kNone},
    QuantityInfo{differing, "differing",
                 "elements that differ in bits; of `bits_strict` payloads of NaN count too", kNone},
    QuantityInfo{unequal, "unequal", "elements that are not ==", kNone},
    QuantityInfo{nonfinite, "nonfinite",
                 "elements where NaN or infinity differs; of `statistical` how far the shares of "
                 "numbers that are not finite are apart, below 64 elements how many those are",
                 "0; of `statistical` what is chance"},
    QuantityInfo{ulp, "ulp", "greatest distance in units in the last place", "n of `ulp(n)`"},
    QuantityInfo{outside, "outside",
                 "elements outside the tolerance; of `same` numbers (a complex element has two)",
                 kNone},
    QuantityInfo{not_same, "not_same", "1 where `torch._dynamo.utils.same` is False", kNone},
    QuantityInfo{error, "error", "max\\|c − g\\|", "k·max\\|e − g\\| + 2u·max\\|g\\|"},
    QuantityInfo{gross, "gross", "numbers of c that are grossly wrong", "as many as may be"},
    QuantityInfo{rmse, "rmse", "root of the mean square of c − g",
                 "m times eager's + tol/10, m as upstream has it"},
    QuantityInfo{beyond, "beyond",
                 "elements that are more than n ulp further from the stepwise gold than eager",
                 kNone},
    QuantityInfo{without_gold, "without_gold",
                 "elements that differ where there is no gold, or none that is finite", kNone},
    QuantityInfo{selection, "selection", "indices that select other values", kNone},
    QuantityInfo{repeated, "repeated", "indices that name an element that another one names too",
                 kNone},
    QuantityInfo{mean, "mean", "how far the means are apart", "what is chance"},
    QuantityInfo{variance, "variance", "how far the variances are apart", "what is chance"},
};
static_assert(has_every_row(kQuantities, &QuantityInfo::quantity));

}  // namespace

std::span<const QuantityInfo> all_quantities() { return kQuantities; }

std::string_view name_of(Quantity quantity) {
  return kQuantities[static_cast<std::size_t>(quantity)].name;
}

std::optional<Quantity> find_quantity(std::string_view name) {
  const QuantityInfo* found = find_named(kQuantities, name);
  return found == nullptr ? std::nullopt : std::optional(found->quantity);
}

Status status_of(const Measurement& leaf) {
  if (leaf.ok) return Status::conform;
  return leaf.of == nonfinite ? Status::nonfinite_diverges : Status::value_diverges;
}

}  // namespace lockstep
