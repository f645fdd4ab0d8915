#include <fmt/format.h>

#include <iostream>

#include "base/text.h"
#include "commands/artefacts.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "record/judged.h"
#include "record/log.h"
#include "record/tally.h"
#include "reports/causes.h"
#include "reports/closing.h"
#include "reports/ladder.h"
#include "reports/operators.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// A line for every verdict.
void print_verdicts(const RunRecord& record, const Options& options) {
  const auto [out, style] = people_output(options);
  for (const Verdict& verdict : record.verdicts)
    out << one_line_of(style, verdict, options.strict) << '\n';
  out.flush();
}

void print_causes(const RunRecord& record, const Options& options) {
  const auto [out, style] = people_output(options);
  const std::string text = causes_text(record, style, options.strict, true);
  out << (text.empty() && options.causes ? "there is no cause: nothing differs\n" : text);
  out.flush();
}

void print_ladder(const RunRecord& record, const Options& options) {
  const auto [out, style] = people_output(options);
  const std::string text = ladder_text(record, style, true);
  out << (text.empty() && options.ladder
              ? "nothing departs, or the run did not go down to the lowest rung: run --ladder\n"
              : text);
  out.flush();
}

void print_operators(const RunRecord& record, const Options& options) {
  const auto [out, style] = people_output(options);
  out << operators_text(record, style, options.strict);
  out.flush();
}

void print_tolerated(const RunRecord& record, const Options& options) {
  const auto [out, style] = people_output(options);
  const std::vector<Tolerated> all = tolerated(record);
  for (const Tolerated& one : all) out << tolerated_line(style, one) << '\n';
  if (all.empty()) out << "nothing was tolerated: what conforms is equal in bits\n";
  if (const std::string line = conform_line(tally(record, options.strict)); !line.empty())
    out << line << '\n';
  out.flush();
}

}  // namespace

Exit command_report(const Options& options) {
  if (options.select.size() > 1) {
    print_error({"found more than one log, expected one", ""});
    return Exit::usage;
  }
  const fs::path log =
      options.select.empty() ? options.cache / "runs" / "latest" : fs::path(options.select.front());
  auto record = read_log(log);
  if (!record) {
    print_error(record.error());
    return Exit::usage;
  }
  if (options.min_judged) record->info.min_judged = options.min_judged;
  const fs::path directory = !options.out.empty()    ? options.out
                             : fs::is_directory(log) ? log
                                                     : log.parent_path();
  bool single = false;
  auto written = write_single_reports(*record, options, single);
  if (written && (!single || !options.out.empty()))
    written = write_reports(*record, directory, options.strict);
  if (!written) {
    print_error(written.error());
    return Exit::internal;
  }
  if (options.verbose) print_verdicts(*record, options);
  if (options.causes || options.verbose) print_causes(*record, options);
  if (options.ladder || options.verbose) print_ladder(*record, options);
  if (options.tolerated) print_tolerated(*record, options);
  if (options.operators) print_operators(*record, options);
  if (options.github) print_annotations(*record, options);
  const Tally counts = tally(*record, options.strict);
  if (!writes_to_stdout(options))
    fmt::print("{} of {}, {} failing{}\n", record->verdicts.size(),
               counted(record->info.planned, "verdict"), counts[Column::failing],
               single ? "" : "; reports in " + fs::weakly_canonical(directory).string());
  if (!record->complete())
    fmt::print(stderr, "the log is not complete: {}; `{} run --resume {}` goes on with it\n",
               unfinished_line(*record), options.launcher,
               shell_quote(fs::absolute(fs::is_directory(log) ? log : log.parent_path()).string()));
  const std::string too_little = judged_too_little(*record, options.strict);
  if (!too_little.empty()) print_error({too_little, "--min-judged PERCENT demands less"});
  return counts[Column::failing] > 0 || !too_little.empty() ? Exit::failures : Exit::ok;
}

}  // namespace lockstep
