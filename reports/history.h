#pragma once

#include <cstddef>
#include <string>

#include "base/json.h"
#include "record/history.h"
#include "reports/style.h"

namespace lockstep {

/// How a run is called beside others: its torch, and its day where the torch has several runs.
std::string name_of_run(const History& history, std::size_t place);

/// "since 2.14.0, good in 2.13.0": when a row came and went.
std::string when(const History& history, const HistoryRow& row);

/// What to type to find the wheel, or the commit, with which a row came: `bisect` between its last
/// good and its first bad run.
std::string bisect_command(const History& history, const HistoryRow& row);

/// What the console says: a line for each run, and for each fingerprint; `all`: those that are
/// fixed, too.
std::string history_text(const History& history, const Style& style, bool all);

/// All of it.
Json history_json(const History& history);

/// The page: one HTML file that needs nothing else.  Rows stop where it would have more than
/// `limit` bytes; history_json has all of them.
std::string history_page(const History& history, std::size_t limit = 15'000'000);

}  // namespace lockstep
