#include <fmt/format.h>

#include "base/digest.h"
#include "base/files.h"
#include "base/text.h"
#include "certificate/draft.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/running.h"
#include "commands/showing.h"
#include "requests/certify.h"

namespace lockstep {
namespace fs = std::filesystem;

namespace {

/// Writes what the path could declare, where that is asked for.
Result<void> write_draft(const CertifyRequest& request, const Submission& submission) {
  if (request.draft.empty()) return {};
  const Json draft = draft_declarations(submission.run);
  if (auto written = write_file(request.draft, draft.dump(1) + "\n"); !written) return written;
  fmt::print(stderr,
             "{}: {} entries of `unsupported`, {} of `refuses`, whose reasons are yours to write; "
             "{} verdicts are left\n",
             request.draft.string(), draft["unsupported"].size(), draft["refuses"].size(),
             draft["left"].size());
  return {};
}

}  // namespace

Exit command_certify(const CertifyRequest& request) {
  const auto certified = certify(request, carry_out_on_console);
  if (!certified) return tell(certified.error());
  const Submission& submission = certified->submission;
  const std::string& level = request.basis.choice.level;
  if (auto drafted = write_draft(request, submission); !drafted) {
    print_error(drafted.error());
    return Exit::internal;
  }
  if (certified->archive.empty()) {
    print_people(
        stderr, fmt::format("lockstep: {} does not conform to {}:\n", submission.path.name, level));
    for (const Error& error : certified->errors)
      print_people(stderr, fmt::format("    {}\n", error.message));
    return Exit::failures;
  }
  const fs::path out = request.out.empty()
                           ? fs::path(fmt::format("{}-{}.tar", submission.path.name, level))
                           : request.out;
  const std::string& launcher = request.basis.at.launcher;
  const Json statement = statement_of(submission, assess(submission));
  auto written = write_file(out, certified->archive);
  if (written) fmt::print("\n");
  if (written)
    written = show_certificate(request.showing, launcher, statement, out,
                               Digest().add(certified->archive).hex());
  if (!written) {
    print_error(written.error());
    return Exit::internal;
  }
  const Surroundings& at = request.basis.at;
  const std::string suite = at.own_suite ? " --suite " + shell_quote(at.suite.string()) : "";
  fmt::print(stderr, "the archive: {}; `{} verify{} {}` checks it\n", out.string(), launcher, suite,
             shell_quote(out.string()));
  return Exit::ok;
}

}  // namespace lockstep
