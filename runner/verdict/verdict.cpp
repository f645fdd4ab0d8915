#include "verdict/verdict.h"

#include "base/enum_table.h"

namespace lockstep {
namespace {

constexpr std::array kStandings = {
    StandingInfo{Standing::new_, "new", std::nullopt, std::nullopt,
                 "no expectation explains it; its status decides"},
    StandingInfo{Standing::known, "known", false, false,
                 "it diverges as an expectation says, which has a reason and a link"},
    StandingInfo{Standing::fixed, "fixed", false, true,
                 "an expected divergence no longer happens: remove the expectation"},
    StandingInfo{Standing::waived, "waived", false, false,
                 "as known, and the suite's owners let it pass for this device"},
};
static_assert(has_every_row(kStandings, &StandingInfo::standing));

const StandingInfo& row_of(Standing standing) {
  return kStandings[static_cast<std::size_t>(standing)];
}

}  // namespace

std::span<const StandingInfo> all_standings() { return kStandings; }

std::string_view name_of(Standing standing) { return row_of(standing).name; }

std::optional<Standing> find_standing(std::string_view name) {
  const StandingInfo* found = find_named(kStandings, name);
  return found == nullptr ? std::nullopt : std::optional(found->standing);
}

bool Verdict::fails(bool strict) const {
  const StandingInfo& by_standing = row_of(account.standing);
  const StatusInfo& by_status = info(found.status);
  return strict ? by_standing.fails_strict.value_or(by_status.fails_strict)
                : by_standing.fails.value_or(by_status.fails);
}

}  // namespace lockstep
