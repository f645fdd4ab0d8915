#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "commands/certifying.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/open.h"
#include "commands/run_directory.h"
#include "record/draw.h"
#include "record/machine.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// A random part of the verdicts that were executed; at least one, if there are any.
std::vector<const Verdict*> sample_of(const RunRecord& run, const Options& options) {
  std::vector<const Verdict*> executed, sample;
  for (const Verdict& verdict : run.verdicts) {
    if (verdict.found.status != Status::unsupported) executed.push_back(&verdict);
  }
  const std::uint64_t seed = std::stoull(options.seed);
  std::copy_if(executed.begin(), executed.end(), std::back_inserter(sample),
               [&](const Verdict* each) { return is_drawn(seed, options.sample, each->facts.id); });
  if (sample.empty() && !executed.empty()) sample.push_back(executed[seed % executed.size()]);
  return sample;
}

/// Executes a sample here and compares; the exit status.
Exit execute_sample(const Submission& submission, const Options& options, const Session& session) {
  const auto made = new_directory(options.cache / "certificates", utc_now());
  if (!made) {
    print_error(made.error());
    return Exit::internal;
  }
  const fs::path& folder = *made;
  std::vector<std::string> arguments = run_arguments(options);
  const auto& paths = session.suite().paths;
  const bool is_known = std::any_of(paths.begin(), paths.end(), [&](const Path& path) {
    return path.name == submission.path.name && path.declared == submission.path.declared;
  });
  const auto add_file = [&](const char* flag, const std::string& name, const std::string& text) {
    arguments.insert(arguments.end(), {flag, (folder / name).string()});
    return write_file(folder / name, text);
  };
  Result<void> written;
  if (!is_known) written = add_file("--path-file", "path.json", submission.path_file.text);
  for (std::size_t i = 0; i < submission.waiver_files.size() && written; ++i)
    written =
        add_file("--known", fmt::format("waivers-{}.json", i), submission.waiver_files[i].text);
  if (!written) {
    print_error(written.error());
    return Exit::internal;
  }
  const std::vector<const Verdict*> sample = sample_of(submission.run, options);
  arguments.insert(arguments.end(), {"--level", submission.level_name, "--min-judged", "0"});
  for (const Verdict* verdict : sample) arguments.push_back(verdict->facts.id);
  const auto here = run_with(arguments, folder / "run");
  if (!here) return here.error();
  std::map<std::string, const Verdict*> found;
  for (const Verdict& verdict : here->verdicts) found[verdict.facts.id] = &verdict;
  std::size_t others = 0;
  for (const Verdict* verdict : sample) {
    const auto one = found.find(verdict->facts.id);
    if (one != found.end() && one->second->found.status == verdict->found.status) continue;
    ++others;
    fmt::print(stderr, "    {}: {} in the archive, {} here\n", verdict->facts.id,
               info(verdict->found.status).label,
               one == found.end() ? "not run" : info(one->second->found.status).label);
  }
  fmt::print("executed again here: {} of {} verdicts (--seed {}), {} otherwise\n", sample.size(),
             submission.run.verdicts.size(), options.seed, others);
  return others == 0 ? Exit::ok : Exit::failures;
}

}  // namespace

Exit command_verify(const Options& options) {
  const auto archive = read_file(options.select.front());
  if (!archive) {
    print_error(archive.error());
    return Exit::usage;
  }
  auto session = open_session(options);
  if (!session) return session.error();
  const auto submission = check_certificate(*archive, suite_at_hand(options, *session));
  if (!submission) {
    fmt::print(stderr, "lockstep: {} is no certificate:\n", options.select.front());
    for (const Error& error : submission.error())
      fmt::print(stderr, "    {}{}{}\n", error.message, error.hint.empty() ? "" : "; ", error.hint);
    return Exit::failures;
  }
  const Json statement = statement_of(*submission, assess(*submission));
  if (auto shown = show_certificate(options, statement, options.select.front(), *archive); !shown) {
    print_error(shown.error());
    return Exit::internal;
  }
  if (options.sample > 0) return execute_sample(*submission, options, *session);
  return Exit::ok;
}

}  // namespace lockstep
