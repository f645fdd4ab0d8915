#include "record/tally.h"

#include <algorithm>

#include "base/enum_table.h"

namespace lockstep {
namespace {

// Columns: column, name, glyph, always, meaning.
constexpr std::array kColumns = {
    ColumnInfo{Column::failing, "failing", "≠", true, "fails the run"},
    ColumnInfo{Column::fixed, "fixed", "↑", false, "an expected divergence that no longer happens"},
    ColumnInfo{Column::known, "known", "≈", true, "diverges as expected"},
    ColumnInfo{Column::waived, "waived", "~", false, "diverges, and is let pass"},
    ColumnInfo{Column::skipped, "skipped", "–", false, "says nothing of the compiler"},
    ColumnInfo{Column::conform, "conform", "=", true, "agrees with eager"},
};
static_assert(has_every_row(kColumns, &ColumnInfo::column));
static_assert(kColumns.size() == std::tuple_size_v<decltype(Tally::counts)>);

constexpr std::array kAsRead = [] {
  std::array<const ColumnInfo*, kColumns.size()> columns{&kColumns.back()};
  for (std::size_t i = 1; i < columns.size(); ++i) columns[i] = &kColumns[i - 1];
  return columns;
}();

}  // namespace

std::span<const ColumnInfo> all_columns() { return kColumns; }

std::span<const ColumnInfo* const> columns_as_read() { return kAsRead; }

Column column_of(const Verdict& verdict, bool strict) {
  if (verdict.fails(strict)) return Column::failing;
  switch (verdict.account.standing) {
    case Standing::known:
      return Column::known;
    case Standing::fixed:
      return Column::fixed;
    case Standing::waived:
      return Column::waived;
    case Standing::new_:
      break;
  }
  return info(verdict.found.status).junit == JunitElement::skipped ? Column::skipped
                                                                   : Column::conform;
}

void Tally::add(const Verdict& verdict, bool strict) {
  const Column column = column_of(verdict, strict);
  ++counts[static_cast<std::size_t>(column)];
  several += !verdict.found.executions.empty();
  unsettled += !verdict.found.executions.empty() && verdict.found.unstable;
  reused += !verdict.origin.reused.empty();
  unverified += !verdict.facts.unverified.empty();
  added += (column == Column::known || column == Column::waived) && verdict.account.expectation &&
           verdict.account.expectation->added;
  if (column != Column::conform) return;
  ++(verdict.found.grade ? grades[static_cast<std::size_t>(*verdict.found.grade)] : ungraded);
  if (verdict.found.vacuous) {
    ++vacuous;
  } else if (!verdict.found.weak.empty()) {
    ++weak;
  }
  partly += verdict.found.foreign_fraction > 0;
  stated += verdict.found.execution == Witness::stated;
  const auto& warnings = verdict.found.warnings;
  warn_otherwise += warnings && !(warnings->lost.empty() && warnings->added.empty());
}

Tally tally(const RunRecord& record, bool strict) {
  Tally result;
  for (const Verdict& verdict : record.verdicts) result.add(verdict, strict);
  return result;
}

}  // namespace lockstep
