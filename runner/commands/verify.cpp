#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/running.h"
#include "commands/showing.h"
#include "engine/scratch.h"
#include "requests/certify.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Executes a sample here and compares; the exit status.
Exit execute_again(const VerifyRequest& request, Verified verified) {
  const std::size_t all = verified.submission.run.verdicts.size();
  const auto sampled = execute_sample(request, std::move(verified), carry_out_on_console);
  if (!sampled) return tell(sampled.error());
  for (const Differently& each : sampled->others)
    fmt::print(stderr, "    {}: {} in the archive, {} here\n", each.id, info(each.then).label,
               each.here ? info(*each.here).label : "not run");
  fmt::print("executed again here: {} of {} verdicts (--seed {}), {} with another result\n",
             sampled->executed, all, sampled->seed, sampled->others.size());
  return sampled->others.empty() ? Exit::ok : Exit::failures;
}

}  // namespace

Exit command_verify(const VerifyRequest& request) {
  const auto archive = read_file(request.archive);
  if (!archive) {
    print_error(archive.error());
    return Exit::usage;
  }
  auto verified = verify(request, *archive);
  if (!verified) return tell(verified.error());
  if (!verified->errors.empty()) {
    fmt::print(stderr, "lockstep: {} is no certificate:\n", request.archive.string());
    for (const Error& error : verified->errors)
      fmt::print(stderr, "    {}{}{}\n", error.message, error.hint.empty() ? "" : "; ", error.hint);
    return Exit::failures;
  }
  const Submission& submission = verified->submission;
  const Json statement = statement_of(submission, assess(submission));
  auto shown = show_certificate(request.showing, request.basis.at.launcher, statement,
                                request.archive, *archive);
  if (!shown) {
    print_error(shown.error());
    return Exit::internal;
  }
  return request.sample > 0 ? execute_again(request, std::move(*verified)) : Exit::ok;
}

}  // namespace lockstep
