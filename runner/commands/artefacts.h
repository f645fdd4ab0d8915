#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>

#include "base/result.h"
#include "record/record.h"
#include "reports/style.h"
#include "requests/reporting.h"

namespace lockstep {

/// Writes the reports that belong into the directory of a run, each where it has something to say
/// (report_formats.h).
Result<void> write_reports(const RunRecord& record, const std::filesystem::path& directory,
                           bool strict);

/// Writes the single reports that are asked for (--junit FILE and so on); `any` tells whether there
/// were some.
Result<void> write_single_reports(const RunRecord& record, const Reporting& reporting, bool& any);

/// Writes what `make` makes to a file, whose folder is made, or to standard output where that is
/// "-"; nothing where it is empty.
Result<void> write_report(const std::filesystem::path& file,
                          const std::function<std::string()>& make);

/// Prints what marks case files for GitHub, to standard error (job_log.h).
void print_annotations(const RunRecord& record, const Reporting& reporting);

/// Where people read, and how it looks there: standard error where standard output is a report's.
struct PeopleOutput {
  std::ostream& stream;
  Style style;
};
PeopleOutput people_output(const Reporting& reporting, const std::string& color);

}  // namespace lockstep
