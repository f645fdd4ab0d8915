#include "record/history.h"

#include <fmt/format.h>

#include <iostream>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "commands/artefacts.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "record/kept.h"
#include "record/log.h"
#include "reports/history.h"
#include "requests/reporting.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The logs that a name means: that of a run, or those in a folder; each once, whatever links to
/// it.
std::vector<fs::path> logs_named(const fs::path& name) {
  std::error_code error;
  if (!fs::is_directory(name, error) || fs::exists(name / RunLog::kFileName, error)) return {name};
  std::vector<fs::path> logs = files_below(name, ".jsonl");
  for (fs::path& packed : logs_of_store(name)) logs.push_back(std::move(packed));
  return logs;
}

/// Reads logs into a history, and adds them to a store. A log of a folder that cannot be read is
/// said, and left out.
Result<void> take_logs(const fs::path& name, const fs::path& store, HistoryMaker& maker,
                       std::set<fs::path>& met) {
  const std::vector<fs::path> logs = logs_named(name);
  if (logs.empty())
    return fail(
        fmt::format("found no log in {}, expected run.jsonl, or files that end with .jsonl "
                    "or .jsonl.gz",
                    name.string()));
  for (const fs::path& log : logs) {
    std::error_code error;
    if (!met.insert(fs::weakly_canonical(log, error)).second) continue;
    const auto record = read_log(log);
    if (!record && logs.size() == 1) return tl::unexpected(record.error());
    if (!record) {
      print_error(record.error());
      continue;
    }
    maker.add(*record);
    if (store.empty()) continue;
    if (auto put = put_into_store(store, *record); !put) return tl::unexpected(put.error());
  }
  return {};
}

/// Takes what a store has, and removes what may go.
Result<void> take_store(const HistoryOptions& options, HistoryMaker& maker,
                        std::set<fs::path>& met) {
  std::vector<fs::path> logs = logs_of_store(options.store);
  std::set<fs::path> go;
  if (options.keep_days > 0) {
    for (fs::path& log : may_go(logs, options.keep_days)) go.insert(std::move(log));
  }
  for (const fs::path& log : logs) {
    std::error_code error;
    if (go.contains(log)) {
      if (!fs::remove(log, error) && error)
        return fail(fmt::format("cannot remove {}: {}", log.string(), error.message()));
      continue;
    }
    if (!met.insert(fs::weakly_canonical(log, error)).second) continue;
    const auto record = read_log(log);
    if (record)
      maker.add(*record);
    else
      print_error(record.error());
  }
  return {};
}

Exit carry_out(const HistoryOptions& options) {
  Reporting reporting;
  reporting.files = {{"--html", options.html}, {"--json", options.json}};
  if (auto fits = check(reporting); !fits) return tell(fits.error());
  if (options.runs.empty() && options.store.empty())
    return tell({Exit::usage, {{"found no run, expected runs, folders of logs, or --store", ""}}});
  if (options.keep_days > 0 && options.store.empty())
    return tell({Exit::usage, {{"found --keep-days without --store, of which it is a rule", ""}}});
  HistoryMaker maker;
  std::set<fs::path> met;
  for (const fs::path& run : options.runs) {
    if (auto taken = take_logs(run, options.store, maker, met); !taken)
      return tell({Exit::usage, {taken.error()}});
  }
  if (!options.store.empty()) {
    if (auto taken = take_store(options, maker, met); !taken)
      return tell({Exit::internal, {taken.error()}});
  }
  const History history = maker.history();
  if (history.runs.empty()) return tell({Exit::usage, {{"no log could be read", ""}}});
  const auto [out, style] = people_output(reporting, options.basis.at.color);
  out << history_text(history, style, options.verbose) << std::flush;
  for (const auto& written :
       {write_report(options.html, [&] { return history_page(history); }),
        write_report(options.json, [&] { return history_json(history).dump(1) + "\n"; })}) {
    if (!written) return tell({Exit::internal, {written.error()}});
  }
  return Exit::ok;
}

}  // namespace

Exit command_history(const HistoryOptions& options) {
  return while_reading([&](ReadingMemory&) { return carry_out(options); });
}

}  // namespace lockstep
