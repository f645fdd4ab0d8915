#include "base/gold.h"

namespace lockstep {
namespace {

// Columns: gold, name, of, wide, samples, better, asked, saved, meaning.
constexpr std::array kGolds = {
    GoldInfo{Gold::fp64, "fp64", Gold::fp64, true, false, false, GoldAsked::always, true,
             "every tensor is float64 from the start"},
    GoldInfo{Gold::mpfr, "mpfr", Gold::fp64, true, false, true, GoldAsked::pointwise, false,
             "`fp64` whose elementary functions are rounded correctly"},
    GoldInfo{Gold::perturbed, "perturbed", Gold::fp64, true, false, false, GoldAsked::failing, true,
             "`fp64` on inputs that are moved by one unit in the last place"},
    GoldInfo{Gold::stepwise, "stepwise", Gold::stepwise, false, false, false, GoldAsked::read, true,
             "each operator in float64, its results rounded to the dtype that eager gives them"},
    GoldInfo{Gold::fp64_noise, "fp64_noise", Gold::fp64, false, true, false,
             GoldAsked::failing_read, false, "samples: each result rounded up or down by chance"},
    GoldInfo{Gold::stepwise_noise, "stepwise_noise", Gold::stepwise, false, true, false,
             GoldAsked::failing_read, false,
             "samples: each result moved by the error of a kernel before it is rounded"},
};
static_assert(has_every_row(kGolds, &GoldInfo::gold));

}  // namespace

std::span<const GoldInfo> all_golds() { return kGolds; }

const GoldInfo& info(Gold gold) { return kGolds[static_cast<std::size_t>(gold)]; }

std::optional<Gold> find_gold(std::string_view name) {
  const GoldInfo* found = find_named(kGolds, name);
  return found == nullptr ? std::nullopt : std::optional(found->gold);
}

}  // namespace lockstep
