#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "commands/certifying.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/open.h"
#include "commands/run_directory.h"
#include "record/machine.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

JsonFile read(const fs::path& file, const std::string& shown, Diagnostics& diagnostics) {
  auto found = read_json(file, shown, diagnostics);
  return found ? std::move(*found) : JsonFile{shown, "", {}};
}

/// The files that a submission rests on, decoded.  Errors are printed.
tl::expected<Submission, Exit> begin_submission(const Options& options, const Session& session) {
  const Suite& suite = session.suite();
  const auto path = std::find_if(suite.paths.begin(), suite.paths.end(), [&](const Path& each) {
    return each.name == options.paths.front();
  });
  std::vector<std::string> names;
  for (const Path& each : suite.paths) names.push_back(each.name);
  if (path == suite.paths.end()) {
    print_error({fmt::format("there is no path `{}`", one_line(options.paths.front(), 100)),
                 suggestion(options.paths.front(), names)});
    return tl::unexpected(Exit::usage);
  }
  if (!path->base.empty()) {
    print_error({fmt::format("{} is a variant of {}", path->name, path->base),
                 "a certificate is of a path as its file declares it"});
    return tl::unexpected(Exit::usage);
  }
  Submission submission;
  submission.level_name = options.level;
  Diagnostics diagnostics;
  const std::string level = level_file_of(options.level);
  submission.level_file = read(options.suite / level, level, diagnostics);
  submission.rules_file = read(options.suite / kRulesFile, kRulesFile, diagnostics);
  submission.path_file = *path->file;
  for (const fs::path& file : options.waiver_files)
    submission.waiver_files.push_back(read(file, file.string(), diagnostics));
  if (diagnostics.empty()) decode_files(submission, suite.names, diagnostics);
  if (diagnostics.empty()) return submission;
  print_diagnostics(diagnostics);
  return tl::unexpected(Exit::usage);
}

bool declares(const RunRecord& run) {
  return std::any_of(run.verdicts.begin(), run.verdicts.end(), [](const Verdict& verdict) {
    return verdict.found.unsupported_by == UnsupportedBy::declaration &&
           verdict.found.stage.empty();
  });
}

/// The tensors that were kept of what is waived.
Result<void> take_tensors(Submission& submission, const fs::path& folder) {
  for (const Verdict& verdict : submission.run.verdicts) {
    if (verdict.account.standing != Standing::waived) continue;
    for (const OutputComparison& output : verdict.found.outputs) {
      for (const std::string& name : output.tensors) {
        auto bytes = read_file(folder / name);
        if (!bytes) return tl::unexpected(bytes.error());
        submission.tensors[name] = std::move(*bytes);
      }
    }
  }
  return {};
}

}  // namespace

Exit command_certify(const Options& options) {
  auto session = open_session(options);
  if (!session) return session.error();
  auto submission = begin_submission(options, *session);
  if (!submission) return submission.error();
  const CertificationRules& rules = submission->rules;
  const std::string device = options.devices.empty() ? "cpu" : options.devices.front();

  const auto made = options.run_folder.empty()
                        ? new_directory(options.cache / "certificates", utc_now())
                        : fs::absolute(options.run_folder);
  if (!made) {
    print_error(made.error());
    return Exit::internal;
  }
  const fs::path& folder = *made;
  std::vector<std::string> arguments = run_arguments(options);
  arguments.insert(arguments.end(),
                   {"--level", options.level, "--path", submission->path.name, "--device", device});
  for (const fs::path& file : options.waiver_files)
    arguments.insert(arguments.end(), {"--known", file.string()});
  std::vector<std::string> again = arguments;
  arguments.insert(arguments.end(),
                   {"--keep", "--repeat", std::to_string(rules.times), "--repeat-share",
                    fmt::format("{}", rules.percent), "--repeat-seed", options.seed});
  note_meant(*submission, device, suite_at_hand(options, *session));
  auto run = run_with(arguments, folder);
  if (!run) return run.error();
  submission->run = std::move(*run);
  if (declares(submission->run)) {
    again.insert(again.end(), {"--ignore-declared", "--from", folder.string(), "--min-judged", "0",
                               "status:unsupported"});
    auto declared = run_with(again, folder / "declared");
    if (!declared) return declared.error();
    submission->declared = std::move(*declared);
  }
  if (auto taken = take_tensors(*submission, folder); !taken) {
    print_error(taken.error());
    return Exit::internal;
  }

  const auto archive = make_certificate(*submission);
  if (!archive) {
    fmt::print(stderr, "lockstep: {} does not conform to {}:\n", submission->path.name,
               options.level);
    for (const Error& error : archive.error()) fmt::print(stderr, "    {}\n", error.message);
    return Exit::failures;
  }
  const fs::path out =
      options.out.empty() ? fs::path(fmt::format("{}-{}.tar", submission->path.name, options.level))
                          : options.out;
  if (auto written = write_file(out, *archive); !written) {
    print_error(written.error());
    return Exit::internal;
  }
  const Json statement = statement_of(*submission, assess(*submission));
  fmt::print("\n");
  if (auto shown = show_certificate(options, statement, out, *archive); !shown) {
    print_error(shown.error());
    return Exit::internal;
  }
  fmt::print(stderr, "the archive: {}; `{} verify {}` checks it\n", out.string(), options.launcher,
             shell_quote(out.string()));
  return Exit::ok;
}

}  // namespace lockstep
