#include "engine/batch.h"

#include <signal.h>

#include "engine/post_mortem.h"
#include "engine/process.h"

namespace lockstep {
namespace {

// How long a killed execution may take to be reported as ended before its worker is taken for dead,
// too.
constexpr double kGrace = 10;

}  // namespace

void Batch::begin(Clock::time_point now) {
  first().began = first().stage_began = now;
  first().oom_kills_before = oom_kills();
}

void Batch::take(const WorkerMessage& message, Clock::time_point now) {
  SentExecution& sent = first();
  if (message.kind == WorkerMessage::Kind::started) {
    // A worker that names itself (or its guard) has no group for the execution alone.
    const pid_t leader = worker->connection()->process().is(message.pid) ? 0 : message.pid;
    if (leader != pid) {
      kill_group(pid);  // no grandchild outlives the child that is gone
      struck = false;
    }
    pid = leader;
    sent.began = sent.stage_began = now;
  } else {
    if (sent.stage == "warm") sent.began += now - sent.stage_began;  // nobody's seconds
    sent.stage = message.stage;
    sent.stage_began = now;
  }
}

bool Batch::take_end(const WorkerMessage& ended) {
  const bool by_kill = ended.signal == SIGKILL;
  const bool innocent = by_kill && struck && !first().killed_at;
  if (by_kill) struck = false;
  if (ended.signal != 0 || executions.size() == 1) {
    kill_group(pid);  // no grandchild outlives it
    pid = 0;
  }
  return innocent;
}

void Batch::check_clock(Clock::time_point now, double limit) {
  const auto seconds_since = [&](Clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  SentExecution& sent = first();
  if (sent.killed_at) {
    if (seconds_since(*sent.killed_at) > kGrace) worker->connection()->process().kill();
  } else if (seconds_since(sent.stage_began) > limit) {
    sent.killed_at = Clock::now();
    struck = kill_group(pid);
    if (!struck) worker->connection()->process().kill();
  }
}

}  // namespace lockstep
