#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "wire/observation.h"
#include "wire/request.h"

namespace lockstep {

/// How to start a worker.  Where it runs, and where its standard error goes, the engine decides.
struct WorkerSpec {
  std::string name;               ///< "eager", "compiled", or the path's name
  std::vector<std::string> argv;  ///< argv[0] is searched in PATH
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the engine's own
  /// At which its `hello` has to say that it computes; empty: at whichever.
  std::string cpu_level = {};
};

/// One execution of a job.
struct JobPart {
  WorkerSpec worker;  ///< workers with the same command and environment are shared
  /// A `run` message (docs/design/protocol.md) without what the engine adds to it: `run`, `out`,
  /// `storages` and `before`.
  Json message;
};

/// One observation to come.
struct Job {
  std::string id;  ///< shown while it runs
  /// What is executed for it, in this order: mostly one.  A later part finds what the one before
  /// left in its `out`, and is not begun unless that one returned.
  std::vector<JobPart> parts;
  /// Of every part: files of this machine.  The engine brings them to where the worker is and tells
  /// it their names there.
  std::vector<StorageFile> storages;
  std::size_t order = 0;  ///< smaller ones go first
  /// Gets what happened (several parts: join_parts) and the seconds that it took.
  std::function<void(Observation, double)> done;
  /// The part of each stage's limit that it may take: below 1 where a time-out is not the end of
  /// it.
  double patience = 1;
  /// What the first part finds as left by a part before it, which another run executed; empty:
  /// nothing.  It stays.
  std::filesystem::path before = {};
  /// Of every part: what the runner has already, so that a worker that can tell need not send it.
  HeldStorages held = {};
};

/// Runs jobs on workers, here or on other machines.  Callbacks are called by `step` alone, on the
/// thread that calls it; all functions but `wake` belong to one thread.
class Engine {
 public:
  virtual ~Engine() = default;

  /// Starts a worker without a job, so that it warms up meanwhile.
  virtual void warm_up(const WorkerSpec& spec) = 0;
  virtual void submit(Job job) = 0;
  /// Waits until something happens, at most `seconds`, and handles it.
  virtual void step(double seconds) = 0;
  /// Makes the `step` that is waiting, or else the next one, return at once.  From any thread.
  virtual void wake() = 0;
  /// Whether nothing is queued or under way.
  virtual bool idle() const = 0;
  /// How many jobs it should have, queued or under way, so that nothing of it has to wait for more.
  virtual std::size_t wanted() const = 0;
  /// Ids of the jobs under way, the one that began last behind.
  virtual std::vector<std::string> running_ids() const = 0;
  /// The names of workers that were started and have not said hello.
  virtual std::vector<std::string> starting() const = 0;
  /// A line for each job that runs and each worker that starts, with stage and seconds.
  virtual std::string report() const = 0;
  /// What a worker answered to `hello`, or null while it has not.
  virtual const Json* hello_of(const WorkerSpec& spec) const = 0;
  /// Why a worker cannot be used, or empty.
  virtual std::string failure_of(const WorkerSpec& spec) const = 0;
  /// Asks a worker that nobody needs any more to exit, and waits a few seconds; how it ended where
  /// that was not well, or empty. It is started again for who needs it after all.
  virtual std::string dismiss(const WorkerSpec& spec) = 0;
  /// Drops the queue and kills what runs; callbacks of these jobs are not called.
  virtual void abandon() = 0;

  /// Called once for each worker that is ready, and with a note when one starts.
  std::function<void(const std::string& name, const Json& hello)> on_hello;
  std::function<void(const std::string& text)> on_note;
  std::function<void()> on_started;
};

}  // namespace lockstep
