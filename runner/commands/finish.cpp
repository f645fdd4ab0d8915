#include "commands/finish.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/text.h"
#include "commands/artefacts.h"
#include "commands/errors.h"
#include "commands/propose.h"
#include "record/judged.h"
#include "record/tally.h"
#include "reports/closing.h"
#include "reports/summary.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Says which of the paths that were asked for by name judged nothing, because their settings
/// cannot be put in force here: a vendor whose package is missing must not get a green run.  Paths
/// that are there by default may be of another torch.
bool tell_unusable_paths(const RunRecord& record, const Options& options,
                         const std::vector<Path>& paths) {
  bool unusable = false;
  for (const Path& path : paths) {
    if (!path.added && !contains(options.paths, path.name)) continue;
    const Verdict* refused = nullptr;
    bool judged = false;
    for (const Verdict& verdict : record.verdicts) {
      if (verdict.facts.path != path.name) continue;
      judged |= verdict.found.status != Status::unsupported;
      if (verdict.found.stage == "configure") refused = &verdict;
    }
    if (judged || refused == nullptr) continue;
    print_error({fmt::format("the path {} cannot be used here and judged nothing: {}", path.name,
                             refused->found.reason),
                 "bring what its file asks for, or leave the path out"});
    unusable = true;
  }
  return unusable;
}

/// Appends the summary to the page of the job, where GitHub says which file that is.
Result<void> add_to_job_page(const RunRecord& record, bool strict) {
  const char* page = std::getenv("GITHUB_STEP_SUMMARY");
  if (page == nullptr || *page == '\0') return {};
  errno = 0;
  if ((std::ofstream(page, std::ios::app) << summary(record, strict)).flush()) return {};
  return fail(
      fmt::format("cannot write the job's summary to {}: {}", page, std::strerror(errno)),
      "GITHUB_STEP_SUMMARY names that file; without it, or without --github, there is none");
}

}  // namespace

Exit finish(const RunRecord& record, const Options& options, const fs::path& directory,
            const std::vector<Path>& paths) {
  if (auto written = write_reports(record, directory, options.strict); !written) {
    print_error(written.error());
    return Exit::internal;
  }
  bool single = false;
  if (auto written = write_single_reports(record, options, single); !written) {
    print_error(written.error());
    return Exit::internal;
  }
  if (!options.update_known.empty()) {
    if (auto proposed = propose(record, options); !proposed) {
      print_error(proposed.error());
      return Exit::internal;
    }
  }
  if (options.github) {
    print_annotations(record, options);
    if (auto written = add_to_job_page(record, options.strict); !written) {
      print_error(written.error());
      return Exit::internal;
    }
  }
  if (!options.quiet) fmt::print(stderr, "log and reports: {}\n", directory.string());
  if (record.verdicts.size() < record.info.planned) {
    fmt::print(stderr, "{} after {} of {}; `{} run --resume {}` goes on\n",
               record.end->interrupted ? "interrupted" : "stopped", record.verdicts.size(),
               counted(record.info.planned, "verdict"), options.launcher,
               shell_quote(fs::absolute(directory).string()));
  }
  if (record.end->interrupted) return Exit::interrupted;
  const Tally counts = tally(record, options.strict);
  // A worker that can never be used says nothing of any case.
  const bool all_lost =
      !record.verdicts.empty() &&
      std::all_of(record.verdicts.begin(), record.verdicts.end(), [](const Verdict& verdict) {
        return verdict.found.status == Status::worker_lost;
      });
  if (all_lost) return Exit::internal;
  const bool failing = counts[Column::failing] > 0;
  if (tell_unusable_paths(record, options, paths) && !failing) return Exit::internal;
  const bool fails = failing || !judged_too_little(record, options.strict).empty();
  return fails ? Exit::failures : Exit::ok;
}

}  // namespace lockstep
