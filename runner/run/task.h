#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cases/inputs.h"
#include "engine/engine.h"
#include "plan/plan.h"
#include "run/judgement.h"

namespace lockstep {

/// An observation in higher precision, made where it can decide something.
struct Gold {
  bool asked = false;
  std::shared_ptr<const Observation> made;
};

/// A verdict of an instance on its way.
struct PendingVerdict {
  std::size_t item = 0;
  std::shared_ptr<const Observation> observation;
  std::size_t shared = 0;  ///< with how many others `observation` was made in one graph
  GoldSet golds{};         ///< that `observation` is judged with; it waits until they are made
  bool judging = false;    ///< a thread is at it
  double seconds = 0;
  bool emitted = false;
  std::vector<Verdict> rounds;  ///< of its executions those that are judged
};

/// An instance under way.  Whoever waits for something of it holds it.
struct Task {
  std::size_t index = 0;
  const Instance* instance = nullptr;
  std::filesystem::path directory;
  InputSet inputs;
  std::shared_ptr<const Inputs> before;  ///< what `inputs` says, for the judge
  std::shared_ptr<const Observation> eager;
  KnownStorages known;  ///< of `before` and, once it is there, of `eager`
  std::array<Gold, kGolds.size()> golds;
  std::vector<PendingVerdict> items;
  std::string program;  ///< for the reports, made with the first verdict
};
using TaskPtr = std::shared_ptr<Task>;

/// The storages of an input set, as a job has them.
std::vector<StorageFile> storage_files(const InputSet& inputs);

/// The instances under way that may be compiled in one graph.
struct SharedGraph {
  std::vector<TaskPtr> tasks;  ///< in the order of the plan
  std::size_t waiting = 0;     ///< of which it is not known what eager does
  std::size_t unfinished = 0;  ///< that have verdicts to come
};

/// An item to be executed with others in one graph.
struct Sharer {
  TaskPtr task;
  PendingVerdict* pending = nullptr;  ///< one of the task's
};

}  // namespace lockstep
