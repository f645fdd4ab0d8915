#pragma once

#include <filesystem>
#include <iosfwd>

#include "base/result.h"
#include "commands/options.h"
#include "record/record.h"
#include "reports/style.h"

namespace lockstep {

/// Writes the reports that belong into the directory of a run, each where it has something to say
/// (report_formats.h).
Result<void> write_reports(const RunRecord& record, const std::filesystem::path& directory,
                           bool strict);

/// Writes the single reports that the command line asked for (--junit FILE and so on); `any` tells
/// whether there were some.
Result<void> write_single_reports(const RunRecord& record, const Options& options, bool& any);

/// Prints what marks case files for GitHub, to standard error where standard output is a report's.
void print_annotations(const RunRecord& record, const Options& options);

/// Whether one of them, or --update-known, has standard output for itself.
bool writes_to_stdout(const Options& options);

/// Where people read, and how it looks there: standard error where standard output is a report's.
struct PeopleOutput {
  std::ostream& stream;
  Style style;
};
PeopleOutput people_output(const Options& options);

}  // namespace lockstep
