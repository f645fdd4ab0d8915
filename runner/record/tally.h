#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "record/record.h"

namespace lockstep {

/// What a verdict does to a run: the columns of every table of counts, worst first.
enum class Column { failing, fixed, known, waived, skipped, conform };

/// Everything that depends on a column alone.  The table in tally.cpp is its only home.
struct ColumnInfo {
  Column column;
  std::string_view name;
  std::string_view glyph;    ///< one sign for the page
  bool always;               ///< shown also where there are none
  std::string_view meaning;  ///< for people
};

/// All columns in the order of the enumeration.
std::span<const ColumnInfo> all_columns();

/// The columns as people read a line of counts: what conforms, then the rest, worst first.
std::span<const ColumnInfo* const> columns_as_read();

/// The one column in which a verdict counts.
Column column_of(const Verdict& verdict, bool strict);

/// How many verdicts there are of each kind.
struct Tally {
  std::array<std::size_t, static_cast<std::size_t>(Column::conform) + 1> counts{};
  /// Those that conform, by the grade that they reached, and without one (both raise, or nothing
  /// but metadata was compared).
  std::array<std::size_t, static_cast<std::size_t>(Grade::none) + 1> grades{};
  std::size_t ungraded = 0;
  std::size_t weak = 0;     ///< that conform, but say little: Verdict::weak
  std::size_t vacuous = 0;  ///< that conform although there was nothing to compare or to compile
  std::size_t partly = 0;   ///< that conform, with only a part in the path's own code
  std::size_t stated = 0;   ///< that conform, and who executed them is stated, not observed
  /// That conform, and either side warns of something that the other one does not.
  std::size_t warn_otherwise = 0;

  std::size_t several = 0;    ///< in any column: executed several times
  std::size_t unsettled = 0;  ///< of these: the executions disagree

  std::size_t reused = 0;  ///< in any column: not made by this run

  std::size_t added = 0;       ///< that are known, and not without a file of --known
  std::size_t unverified = 0;  ///< in any column: of cases that nobody has seen do what they say

  void add(const Verdict& verdict, bool strict);
  std::size_t operator[](Column column) const { return counts[static_cast<std::size_t>(column)]; }
};

/// Counts every verdict once, in its column.
Tally tally(const RunRecord& record, bool strict);

}  // namespace lockstep
