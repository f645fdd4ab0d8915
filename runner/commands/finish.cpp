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
bool tell_unusable_paths(const Finished& run) {
  bool unusable = false;
  for (const Path& path : run.paths) {
    if (!path.added && !contains(run.named_paths, path.name)) continue;
    const Verdict* refused = nullptr;
    bool judged = false;
    for (const Verdict& verdict : run.record.verdicts) {
      if (verdict.facts.path != path.name) continue;
      judged |= verdict.found.status != Status::unsupported;
      if (verdict.found.stage == "configure") refused = &verdict;
    }
    if (judged || refused == nullptr) continue;
    print_error({fmt::format("the path {} cannot be used here and judged nothing: {}", path.name,
                             refused->found.reason),
                 "install what its file asks for, or leave the path out"});
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

/// Everything that is written of a run: reports, proposals, what GitHub shows.
Result<void> write_all(const Finished& run) {
  const Reporting& reporting = run.reporting;
  if (auto written = write_reports(run.record, run.directory, reporting.strict); !written)
    return written;
  bool single = false;
  if (auto written = write_single_reports(run.record, reporting, single); !written) return written;
  if (!reporting.update_known.empty()) {
    auto proposed =
        propose(run.record, proposals_file(reporting, run.at), reporting.accept_crashes);
    if (!proposed) return proposed;
  }
  if (!reporting.github && !run.at.in_github) return {};
  print_annotations(run.record, reporting);
  return add_to_job_page(run.record, reporting.strict);
}

void tell_unfinished(const Finished& run) {
  const RunRecord& record = run.record;
  if (record.verdicts.size() >= record.info.planned) return;
  fmt::print(stderr, "{} after {} of {}; `{} run --resume {}` goes on\n",
             record.end->interrupted ? "interrupted" : "stopped", record.verdicts.size(),
             counted(record.info.planned, "verdict"), run.at.launcher,
             shell_quote(fs::absolute(run.directory).string()));
}

}  // namespace

Exit finish(const Finished& run) {
  const RunRecord& record = run.record;
  const bool strict = run.reporting.strict;
  if (auto written = write_all(run); !written) {
    print_error(written.error());
    return Exit::internal;
  }
  if (!run.reporting.quiet) fmt::print(stderr, "log and reports: {}\n", run.directory.string());
  tell_unfinished(run);
  if (record.end->interrupted) return Exit::interrupted;
  // A worker that can never be used says nothing of any case.
  const bool all_lost =
      !record.verdicts.empty() &&
      std::all_of(record.verdicts.begin(), record.verdicts.end(), [](const Verdict& verdict) {
        return verdict.found.status == Status::worker_lost;
      });
  if (all_lost) return Exit::internal;
  const bool failing = tally(record, strict)[Column::failing] > 0;
  if (tell_unusable_paths(run) && !failing) return Exit::internal;
  const bool fails = failing || !judged_too_little(record, strict).empty();
  return fails ? Exit::failures : Exit::ok;
}

}  // namespace lockstep
