#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cases/inputs.h"
#include "cases/relations.h"
#include "engine/engine.h"
#include "plan/plan.h"
#include "run/judgement.h"

namespace lockstep {

/// An observation in higher precision, made where it can decide something.
struct MadeGold {
  bool asked = false;
  std::shared_ptr<const Observation> made;
};

/// An eager that paths of an instance are compared with, executed once for all of them.
struct Reference {
  Site site;
  std::shared_ptr<const Case> declared;      ///< the case on its device
  std::shared_ptr<const Observation> eager;  ///< null: not yet
  PerGold<MadeGold> golds;
  OtherExecutions others;
};

/// The program of an instance with operators in the place of public Python functions, which golds
/// are made of: fetched once, where the first gold is asked for.
struct LoweredProgram {
  bool asked = false;
  bool known = false;
  Json program;       ///< null: there is none
  std::string fault;  ///< how the execution that should have said it ended, if it did not
  std::vector<std::function<void()>> waiting;
};

/// The relations that another execution shows, of those that a case asks for.
std::vector<RelationKind> other_executions(const Case& declared);

/// A verdict of an instance on its way.
struct PendingVerdict {
  std::size_t item = 0;
  std::size_t reference = 0;  ///< of the task's
  std::shared_ptr<const Observation> observation;
  std::size_t shared = 0;  ///< with how many others `observation` was made in one graph
  OtherExecutions others;
  std::size_t executions_to_come = 0;  ///< of `observation` and `others`
  GoldSet golds{};       ///< that `observation` is judged with; it waits until they are made
  bool judging = false;  ///< a thread is at it
  double seconds = 0;
  bool emitted = false;
  /// Of its executions those that are judged: what was found, and how it came about.
  std::vector<Findings> rounds;
  std::vector<Provenance> origins;
  int draws = 0;  ///< of inputs that nobody had seen
};

/// An instance under way.  Whoever waits for something of it holds it.
struct Task {
  std::size_t index = 0;
  const Instance* instance = nullptr;
  /// What is executed and judged: the instance's case, with the calls of its relations; or another
  /// one beside it (`on_aside`).
  std::shared_ptr<const Case> executed;
  /// Who hears what is found on a case beside the instance's: inputs that nobody has seen, or each
  /// call from eager's state; null: a verdict is given.
  std::function<void(Findings)> on_aside;
  std::shared_ptr<const RelatedCase> related;  ///< with `executed`; null: it asks for none

  const Case& declared() const { return *executed; }

  std::filesystem::path directory;
  InputSet inputs;
  std::shared_ptr<const Inputs> before;  ///< what `inputs` says, for the judge
  LoweredProgram lowered;
  std::vector<Reference> references;  ///< of `items`, in their order
  std::size_t unknown = 0;            ///< references of which it is not known what eager does
  HeldStorages held;                  ///< of `before` and of the references that are there
  std::vector<PendingVerdict> items;
  std::string program;  ///< for the reports, made with the first verdict
};
using TaskPtr = std::shared_ptr<Task>;

/// The ids of the jobs of an instance besides those of its paths, whose ids are those of the items:
/// where eager is executed that a path is compared with, or one of its golds, and what makes
/// inputs.
std::string eager_job(const Instance& instance, const Site& site);
std::string gold_job(const Instance& instance, const Site& site, std::string_view mode);
std::string other_job(std::string id, RelationKind kind);
std::string prepare_job(const Instance& instance);
std::string lower_job(const Instance& instance);

/// Whether steps call public Python functions, those in blocks too.
bool call_functions(const std::vector<Step>& steps);

/// Whether that is another site than the path's own.
std::optional<CrossDevice> cross_device(const Site& reference, const Path& path,
                                        const Instance& instance);

/// Whether a path's worker is told of which storages the runner has the bytes. A backend that is
/// not torch's and shares a process with the worker could say that it has the same as eager.
bool is_told_held(const Path& path);

/// Finds out which references the items that have no verdict yet are compared with, each once.
void find_references(Task& task, const Plan& plan);

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
