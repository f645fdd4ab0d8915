#include "commands/resume.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "commands/report_formats.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The options of the run that is to be gone on with: those of its log, and where they do not
/// matter to its verdicts, the ones given now.
Result<Options> resumed_options(const Options& given, const RunRecord& record) {
  Options options = parse_options(record.info.arguments, record.info.directory);
  if (options.command != "run")
    return fail("the log does not say with which arguments its run was begun", "begin a new run");
  std::set<std::string> free = {"--resume",         "--jobs",    "--strict", "--max-fail",
                                "--fail-fast",      "--verbose", "--github", "--update-known",
                                "--accept-crashes", "--quiet",   "--on"};
  for (const ReportFormat& report : report_formats()) free.insert(report.flag);
  for (const auto& [name, values] : given.given) {
    const auto before = options.given.find(name);
    if (free.contains(name) || (before != options.given.end() && before->second == values))
      continue;
    return fail(
        fmt::format("found {} {} beside --resume, but the run in {} goes on with what it was "
                    "begun with: {}",
                    name, fmt::join(values, " "), given.resume.string(),
                    fmt::join(record.info.arguments, " ")),
        fmt::format("leave {} out, or begin a new run", name));
  }
  options.resume = given.resume;
  options.out.clear();
  if (!given.on.empty()) options.on = given.on;
  if (given.jobs > 0) options.jobs = given.jobs;
  if (given.max_fail > 0) options.max_fail = given.max_fail;
  options.strict |= given.strict;
  options.accept_crashes |= given.accept_crashes;
  if (!given.update_known.empty()) options.update_known = given.update_known;
  for (const ReportFormat& report : report_formats()) {
    if (!(given.*report.file).empty()) options.*report.file = given.*report.file;
  }
  options.color = given.color;
  options.verbose |= given.verbose;
  options.quiet = given.quiet || (options.quiet && !given.verbose);
  options.github = given.github;
  options.eager = given.eager;
  options.python = given.python;
  return options;
}

}  // namespace

Result<Resumption> read_resumption(const Options& given) {
  auto record = read_log(given.resume);
  if (!record) return tl::unexpected(record.error());
  auto options = resumed_options(given, *record);
  if (!options) return tl::unexpected(options.error());
  if (!fs::is_directory(options->resume)) options->resume = options->resume.parent_path();
  return Resumption{std::move(*options), std::move(*record)};
}

}  // namespace lockstep
