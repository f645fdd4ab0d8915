#pragma once

#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "cases/relations.h"
#include "judge/judge.h"
#include "paths/needs.h"
#include "wire/observation.h"

namespace lockstep {

/// What was executed in other circumstances, by the relation that it shows.
using OtherExecutions = std::map<RelationKind, std::shared_ptr<const Observation>>;

/// What the judge reads of an item. It owns everything, so another thread can judge it even if the
/// run ends.
struct Evidence {
  std::string id;  ///< of the item
  std::shared_ptr<const Case> declared;
  std::string path;
  Contract contract = Contract::values;  ///< of the instance's results
  bool compiles = true;
  std::vector<RefusalRule> refuses;  ///< errors that mean that the path does not support it
  Declared of_path;                  ///< what the path's contract leaves out of the instance
  bool worker_of_lockstep = true;    ///< judge.h
  bool own_random = false;           ///< path.h
  std::optional<CrossDevice> cross_device;
  std::string eager_device = "cpu";
  /// `compiled` was made in one graph with others: only what conforms and is its own work counts.
  bool shared = false;
  int repeat = 2;                        ///< how often everything was executed with the same seeds
  std::shared_ptr<const Inputs> inputs;  ///< as they were before each call
  std::shared_ptr<const Observation> eager, compiled;
  PerGold<std::shared_ptr<const Observation>> golds;  ///< null: not asked for
  std::shared_ptr<const RelatedCase> related;         ///< null: there are no relations
  OtherExecutions other_eager, other_compiled;
  std::vector<std::string> keeps;  ///< relations that the path keeps
};

/// What the judge says of an item, and whether that is its last word.
struct Judgement {
  Findings found;
  Provenance origin;
  bool counts = true;  ///< false: it must be executed alone
  GoldSet needs{};     ///< golds that it is to be judged again with
  std::string note;    ///< what a person should know and the verdict does not say
};

using JudgeFunction = std::function<Findings(const JudgeRequest&)>;

/// Judges an item.  Where that is final and `save_to` is a directory, tensors that do not
/// conform are kept there (differing_tensors.h).
Judgement judge_item(const Evidence& evidence, const JudgeFunction& judge,
                     const std::filesystem::path& save_to);

}  // namespace lockstep
