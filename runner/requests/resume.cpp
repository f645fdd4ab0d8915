#include "requests/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "record/log.h"
#include "requests/decode.h"
#include "requests/report_formats.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Refuses what was not asked when the run was begun, and matters to its verdicts.
Result<void> check_same(const RunRequest& given, const RunRequest& before,
                        const RunRecord& record) {
  std::set<std::string> free = {"--resume",         "--jobs",    "--strict", "--max-fail",
                                "--fail-fast",      "--verbose", "--github", "--update-known",
                                "--accept-crashes", "--quiet",   "--on"};
  for (const ReportFormat& report : report_formats()) free.insert(report.flag);
  const std::vector<FlagWords> all = flags_of(before);
  for (const FlagWords& flag : flags_of(given)) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const FlagWords& each) {
      return each.name == flag.name && each.words == flag.words;
    });
    if (free.contains(flag.name) || found != all.end()) continue;
    const bool is_word = !flag.words.front().starts_with(flag.name);
    return fail(
        fmt::format(
            "found {}{} beside --resume, but the run in {} continues with its own arguments: {}",
            is_word ? flag.name + " " : "", fmt::join(flag.words, " "), given.resume.string(),
            fmt::join(record.info.arguments, " ")),
        fmt::format("leave {} out, or begin a new run", flag.name));
  }
  return {};
}

/// What goes by the request of today.
void take_over(const RunRequest& given, RunRequest& request) {
  request.resume = given.resume;
  request.out.clear();
  if (!given.on.empty()) request.on = given.on;
  if (given.basis.pace.jobs > 0) request.basis.pace.jobs = given.basis.pace.jobs;
  if (given.max_fail > 0) request.max_fail = given.max_fail;
  const Reporting& now = given.reporting;
  Reporting& reporting = request.reporting;
  reporting.strict |= now.strict;
  reporting.accept_crashes |= now.accept_crashes;
  if (!now.update_known.empty()) reporting.update_known = now.update_known;
  for (const auto& [flag, file] : now.files) reporting.files[flag] = file;
  reporting.verbose |= now.verbose;
  reporting.quiet = now.quiet || (reporting.quiet && !now.verbose);
  reporting.github = now.github;
  const Surroundings& here = given.basis.at;
  request.basis.at.color = here.color;
  request.basis.at.in_github = here.in_github;
  request.basis.at.eager = here.eager;
  request.basis.at.python = here.python;
}

/// The surroundings of the run: its directory, and this process's environment. Its words name the
/// suite.
Surroundings place_of(const RunRequest& given, const RunRecord& record) {
  Surroundings at = given.basis.at;
  at.directory = record.info.directory;
  at.suite.clear();
  at.color = Surroundings().color;
  // Defaults are cleared, so that they are found again as they were then.
  if (at.cache == at.home / ".lockstep") at.cache.clear();
  if (at.home == ".") at.home.clear();
  return at;
}

}  // namespace

Result<Resumption> read_resumption(const RunRequest& given) {
  auto record = read_log(given.resume);
  if (!record) return tl::unexpected(record.error());
  auto request = decode_run(record->info.arguments, place_of(given, *record));
  if (!request)
    return fail("the log does not say with which arguments its run was begun", "begin a new run");
  if (auto same = check_same(given, *request, *record); !same) return tl::unexpected(same.error());
  take_over(given, *request);
  if (!fs::is_directory(request->resume)) request->resume = request->resume.parent_path();
  return Resumption{std::move(*request), std::move(*record)};
}

}  // namespace lockstep
