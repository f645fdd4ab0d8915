#include "policies/rules.h"

#include <array>

#include "base/enum_table.h"

namespace lockstep {
namespace {

struct StrideRow {
  StrideRule rule;
  std::string_view name;
};
constexpr std::array kStrideRules = {StrideRow{StrideRule::significant, "significant"},
                                     StrideRow{StrideRule::exact, "exact"},
                                     StrideRow{StrideRule::ignore, "ignore"}};
static_assert(has_every_row(kStrideRules, &StrideRow::rule));

}  // namespace

std::string_view name_of(StrideRule rule) {
  return kStrideRules[static_cast<std::size_t>(rule)].name;
}

std::optional<StrideRule> find_stride_rule(std::string_view name) {
  const StrideRow* found = find_named(kStrideRules, name);
  return found == nullptr ? std::nullopt : std::optional(found->rule);
}

std::vector<std::string> stride_rule_names() {
  std::vector<std::string> names;
  for (const StrideRow& row : kStrideRules) names.emplace_back(row.name);
  return names;
}

}  // namespace lockstep
