#include <fmt/format.h>

#include <iostream>

#include "base/text.h"
#include "commands/artefacts.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "record/judged.h"
#include "record/log.h"
#include "record/tally.h"
#include "reports/closing.h"
#include "reports/fingerprints.h"
#include "reports/ladder.h"
#include "reports/operators.h"
#include "reports/relations.h"
#include "requests/reporting.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// A line for every verdict.
void print_verdicts(const RunRecord& record, const ReportOptions& options) {
  const auto [out, style] = people_output(options.reporting, options.basis.at.color);
  for (const Verdict& verdict : record.verdicts)
    out << one_line_of(style, verdict, options.reporting.strict) << '\n';
  out.flush();
}

void print_fingerprints(const RunRecord& record, const ReportOptions& options) {
  const auto [out, style] = people_output(options.reporting, options.basis.at.color);
  const std::string text = fingerprints_text(record, style, options.reporting.strict, true);
  out << (text.empty() && options.fingerprints ? "there is no fingerprint: nothing differs\n"
                                               : text);
  out.flush();
}

void print_ladder(const RunRecord& record, const ReportOptions& options) {
  const auto [out, style] = people_output(options.reporting, options.basis.at.color);
  const std::string text = ladder_text(record, style, true);
  out << (text.empty() && options.ladder
              ? "nothing diverges, or the run did not go down to the lowest layer: run --ladder\n"
              : text);
  out.flush();
}

void print_operators(const RunRecord& record, const ReportOptions& options) {
  const auto [out, style] = people_output(options.reporting, options.basis.at.color);
  out << operators_text(record, style, options.reporting.strict);
  out.flush();
}

void print_tolerated(const RunRecord& record, const ReportOptions& options) {
  const auto [out, style] = people_output(options.reporting, options.basis.at.color);
  const std::vector<Tolerated> all = tolerated(record);
  for (const Tolerated& one : all) out << tolerated_line(style, one) << '\n';
  if (all.empty()) out << "nothing was tolerated: what conforms is equal in bits\n";
  if (const std::string line = conform_line(tally(record, options.reporting.strict)); !line.empty())
    out << line << '\n';
  out.flush();
}

void print_relations(const RunRecord& record, const ReportOptions& options) {
  const auto [out, style] = people_output(options.reporting, options.basis.at.color);
  const std::string text = relations_text(record);
  out << (text.empty() ? "no relation was asked: run --relations\n" : text);
  out.flush();
}

/// What is asked for besides files.
void print_lists(const RunRecord& record, const ReportOptions& options) {
  const bool verbose = options.reporting.verbose;
  if (verbose) print_verdicts(record, options);
  if (options.fingerprints || verbose) print_fingerprints(record, options);
  if (options.ladder || verbose) print_ladder(record, options);
  if (options.tolerated) print_tolerated(record, options);
  if (options.operators) print_operators(record, options);
  if (options.relations) print_relations(record, options);
  if (options.reporting.github || options.basis.at.in_github)
    print_annotations(record, options.reporting);
}

/// The last lines: how much there is, and what fails; the exit status.
Exit print_totals(const RunRecord& record, const ReportOptions& options, const fs::path& log,
                  const std::string& where) {
  const bool strict = options.reporting.strict;
  const std::size_t failing = tally(record, strict)[Column::failing];
  if (!writes_to_stdout(options.reporting))
    fmt::print("{} of {}, {} failing{}\n", record.verdicts.size(),
               counted(record.info.planned, "verdict"), failing, where);
  if (!record.complete())
    fmt::print(
        stderr, "the log is not complete: {}; `{} run --resume {}` goes on with it\n",
        unfinished_line(record), options.basis.at.launcher,
        shell_quote((fs::is_directory(log) ? fs::absolute(log) : fs::absolute(log).parent_path())
                        .string()));
  const std::string too_little = judged_too_little(record, strict);
  if (!too_little.empty()) print_error({too_little, "--min-judged PERCENT demands less"});
  return failing > 0 || !too_little.empty() || !record.complete() ? Exit::failures : Exit::ok;
}

Exit carry_out(const ReportOptions& options) {
  const Reporting& reporting = options.reporting;
  if (auto fits = check(reporting); !fits) return tell(fits.error());
  if (options.logs.size() > 1)
    return tell({Exit::usage, {{"found more than one log, expected one", ""}}});
  const fs::path log =
      options.logs.empty() ? options.basis.at.runs / "latest" : options.logs.front();
  auto record = read_log(log);
  if (!record) return tell({Exit::usage, {record.error()}});
  if (reporting.min_judged) record->info.min_judged = reporting.min_judged;
  const fs::path directory = !options.out.empty()    ? options.out
                             : fs::is_directory(log) ? log
                                                     : log.parent_path();
  bool single = false;
  auto written = write_single_reports(*record, reporting, single);
  if (written && (!single || !options.out.empty()))
    written = write_reports(*record, directory, reporting.strict);
  if (!written) return tell({Exit::internal, {written.error()}});
  print_lists(*record, options);
  return print_totals(*record, options, log,
                      single ? "" : "; reports in " + fs::weakly_canonical(directory).string());
}

}  // namespace

Exit command_report(const ReportOptions& options) {
  return while_reading([&](ReadingMemory&) { return carry_out(options); });
}

}  // namespace lockstep
