#include <fmt/format.h>

#include "base/digest.h"
#include "base/files.h"
#include "base/text.h"
#include "certificate/archive.h"
#include "certificate/page.h"
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
    print_people(stderr,
                 fmt::format("    {}: {} in the archive, {} here\n", each.id, info(each.then).label,
                             each.here ? info(*each.here).label : "not run"));
  fmt::print("executed again here: {} of {} verdicts (--seed {}), {} with another result\n",
             sampled->executed, all, sampled->seed, sampled->others.size());
  return sampled->others.empty() ? Exit::ok : Exit::failures;
}

Exit carry_out(const VerifyRequest& request, ReadingMemory& memory) {
  auto file = FilePieces::open(request.archive, kArchiveLimits.bytes);
  if (!file) {
    print_error(file.error());
    return Exit::usage;
  }
  Digest digest;
  auto verified = verify(request, [&]() -> Result<std::string_view> {
    auto piece = file->next();
    if (piece) digest.add(*piece);
    return piece;
  });
  if (!verified) return tell(verified.error());
  if (!verified->errors.empty()) {
    print_people(stderr,
                 fmt::format("lockstep: {} is no certificate:\n", request.archive.string()));
    for (const Error& error : verified->errors)
      print_people(stderr, fmt::format("    {}{}{}\n", error.message,
                                       error.hint.empty() ? "" : "; ", error.hint));
    return Exit::failures;
  }
  const Submission& submission = verified->submission;
  Json statement = statement_of(submission, assess(submission));
  if (request.sample == 0) {
    statement[kNotExecutedHere] = true;
    fmt::print(
        "not executed here: this checks the archive and not the backend; `--sample 5%` "
        "executes a part of it\n\n");
  }
  auto shown = show_certificate(request.showing, request.basis.at.launcher, statement,
                                request.archive, digest.hex());
  if (!shown) {
    print_error(shown.error());
    return Exit::internal;
  }
  if (request.sample <= 0) return Exit::ok;
  memory.lift();
  return execute_again(request, std::move(*verified));
}

}  // namespace

Exit command_verify(const VerifyRequest& request) {
  VerifyRequest alone = request;
  alone.basis.at.residents.clear();  // what is verified has workers of its own
  return while_reading([&](ReadingMemory& memory) { return carry_out(alone, memory); });
}

}  // namespace lockstep
