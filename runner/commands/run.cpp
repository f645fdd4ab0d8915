#include <fmt/format.h>

#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/running.h"
#include "requests/member.h"

namespace lockstep {
namespace {

Exit run(Answer<Prepared> prepared) {
  if (!prepared) return tell(prepared.error());
  const auto done = run_on_console(*prepared);
  return done ? done->exit : tell(done.error());
}

/// A member has nobody to tell: its log says everything.
class Silence : public Reporter {
 public:
  void run_started(const RunInfo&) override {}
  void note(const std::string& text) override { print_people(stderr, text + "\n"); }
  void running(const std::vector<std::string>&, const std::vector<std::string>&) override {}
  void verdict(const Verdict&) override {}
  void run_ended(const RunRecord&) override {}
};

}  // namespace

Exit command_run(const RunRequest& request) {
  watch_for_interrupts();
  return run(prepare(request, console_means(request.reporting, request.basis.at)));
}

Exit command_pack(const PackRequest& request) {
  watch_for_interrupts();
  return run(prepare(request, console_means(request.run.reporting, request.run.basis.at)));
}

Exit command_replay(const ReplayRequest& request) {
  watch_for_interrupts();
  return run(prepare(request, console_means(request.run.reporting, request.run.basis.at)));
}

Exit command_serve(const ServeOptions&) {
  auto request = read_member();
  if (!request) return tell(request.error());
  watch_for_interrupts();
  Silence silence;
  auto prepared = prepare(*request, {[&](const std::string& text) { silence.note(text); }, {}});
  if (!prepared) return tell(prepared.error());
  const auto record = execute(*prepared, silence);
  return record ? Exit::ok : tell(record.error());
}

}  // namespace lockstep
