#include "record/merge.h"

#include <fmt/format.h>

#include <iostream>
#include <optional>

#include "commands/artefacts.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/finish.h"
#include "record/log.h"
#include "record/machine.h"
#include "reports/closing.h"
#include "reports/terminal.h"
#include "requests/reporting.h"
#include "requests/run_directory.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Brings along the tensors that `run --save-tensors` wrote, which the verdicts name.
Result<void> copy_tensors(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::is_directory(from / "tensors", error)) return {};
  fs::copy(from / "tensors", to / "tensors",
           fs::copy_options::recursive | fs::copy_options::skip_existing, error);
  if (!error) return {};
  return fail(fmt::format("cannot copy {} to {}: {}", (from / "tensors").string(), to.string(),
                          error.message()));
}

void print_closing(const RunRecord& record, const Reporting& options, const std::string& color) {
  const Terminal terminal = real_terminal();
  ClosingOptions look;
  look.strict = options.strict;
  look.verbose = options.verbose;
  look.quiet = options.quiet;
  look.columns = terminal.out_is_terminal ? terminal.columns : 0;
  look.seconds = record.end->seconds;
  const auto [out, style] = people_output(options, color);
  for (const Verdict& verdict : record.verdicts) {
    if (options.verbose || verdict.fails(options.strict))
      out << one_line_of(style, verdict, options.strict) << '\n';
  }
  out << closing(record, style, look);
  out.flush();
}

/// The logs of all shards; errors are printed.
std::optional<std::vector<RunRecord>> read_shards(const std::vector<fs::path>& names) {
  std::vector<RunRecord> shards;
  bool readable = true;
  for (const fs::path& name : names) {
    auto shard = read_log(name);
    readable = readable && shard;
    if (shard) {
      shards.push_back(std::move(*shard));
    } else {
      print_error(shard.error());
    }
  }
  return readable ? std::optional(std::move(shards)) : std::nullopt;
}

Exit carry_out(const MergeOptions& options) {
  if (auto fits = check(options.reporting); !fits) return tell(fits.error());
  if (auto unused = check_out(options.out); !unused) return tell({Exit::usage, {unused.error()}});
  auto shards = read_shards(options.shards);
  if (!shards) return Exit::usage;
  std::vector<fs::path> folders;
  for (const RunRecord& shard : *shards) folders.push_back(shard.directory);
  auto record = merge(std::move(*shards));
  if (!record) return tell({Exit::usage, record.error()});
  const Surroundings& at = options.basis.at;
  const auto directory = run_directory(options.out, at.runs, utc_now());
  auto written = directory ? RunLog::write(*directory, *record)
                           : Result<void>(tl::unexpected(directory.error()));
  for (const fs::path& folder : folders) {
    if (written) written = copy_tensors(folder, *directory);
  }
  if (!written) return tell({Exit::internal, {written.error()}});
  record->directory = *directory;
  if (options.reporting.min_judged) record->info.min_judged = options.reporting.min_judged;
  if (options.out.empty()) point_latest_at(*directory);
  print_closing(*record, options.reporting, at.color);
  return finish({*record, options.reporting, at, *directory});
}

}  // namespace

Exit command_merge(const MergeOptions& options) {
  return while_reading([&](ReadingMemory&) { return carry_out(options); });
}

}  // namespace lockstep
