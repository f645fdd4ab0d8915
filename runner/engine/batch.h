#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/engine.h"
#include "engine/local_worker.h"
#include "wire/message.h"

namespace lockstep {

/// A part of a job on its way.
struct Execution {
  Job job;
  LocalWorker* worker = nullptr;  ///< of this part
  std::size_t part = 0;
  /// Its worker was lost with others under way, so it is run again with no other on its worker.
  bool alone = false;
  std::filesystem::path before = {};     ///< `out` of the part before
  std::optional<Observation> seen = {};  ///< what the parts before saw
  double seconds = 0;                    ///< that these took

  const JobPart& current() const { return job.parts[part]; }
  bool is_last() const { return part + 1 == job.parts.size(); }
  /// "cpu", "cuda:0".
  std::string device() const { return current().message.value("device", "cpu"); }
  double patience() const { return job.patience; }
  /// Intra-op threads that it asks for; 0: those of the hello.
  int threads() const { return current().message.value("threads", 0); }
};

/// An execution that a worker was told of.
struct SentExecution {
  using Clock = LocalWorker::Clock;

  Execution execution;
  std::int64_t run = 0;  ///< its number
  std::filesystem::path out;
  bool sent_held = false;  ///< its worker was told what the runner has already
  // From here on: since it is the first of its batch.
  std::string stage = "start";
  Clock::time_point stage_began, began;
  std::int64_t oom_kills_before = 0;
  std::optional<Clock::time_point> killed_at;  ///< its clock had run out
};

/// What a worker was told of in one message and has not answered yet, in its order; mostly one
/// execution.  One child takes it and it has one slot: the first is under way, the others wait
/// without a clock.
struct Batch {
  using Clock = LocalWorker::Clock;

  LocalWorker* worker = nullptr;
  std::deque<SentExecution> executions;  ///< at least one
  pid_t pid = 0;                         ///< of the child, as the worker said last, or 0
  /// The child was killed and none has ended by that yet: its clock ran out as the first one ended,
  /// and it may be the next one that pays.
  bool struck = false;

  SentExecution& first() { return executions.front(); }
  const SentExecution& first() const { return executions.front(); }
  /// The clock of the first one begins.
  void begin(Clock::time_point now);
  /// Takes a `started` or a `stage` of the first one.
  void take(const WorkerMessage& message, Clock::time_point now);
  /// Takes how the first one ended; true where it was well and a kill that was another's has hit
  /// it.
  bool take_end(const WorkerMessage& ended);
  /// Kills what is under way once its stage has had its seconds, and the worker where that does not
  /// help.
  void check_clock(Clock::time_point now, double limit);
};

}  // namespace lockstep
