#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "plan/plan.h"
#include "record/record.h"
#include "run/chunks.h"
#include "verdict/verdict.h"

namespace lockstep {

/// Gives the chunks of a plan to the members of a cluster, which are Locksteps on other machines
/// that have the same plan, and takes their verdicts.  Knows nothing of processes or networks: what
/// it hears and sends are messages of the bridge (docs/release/cluster.md).
///
/// A member is told nothing before its log says that its torch, its CPU, its Lockstep and its suite
/// are those of here.  What a member had that is lost is executed elsewhere, each graph alone on
/// its machine; what is lost again is a verdict, `worker_lost`.  Every item gets one verdict.
class Dispatcher {
 public:
  /// `environment` as RunRecord has it: of the eager worker, by the name `eager`, and of the
  /// machine; it grows by on_environment.  `skip`: the items that need no verdict.
  Dispatcher(const Plan& plan, const RunInfo& info, const Json& environment, std::string eager,
             const std::vector<bool>& skip, const std::map<std::string, double>& seconds);

  std::function<void(const Json&)> send;
  std::function<void(Verdict)> on_verdict;
  std::function<void(const std::string&)> on_note;
  std::function<void(const std::string& name, const Json& values)> on_environment;

  /// Takes a message.  An error where nothing more can come.
  Result<void> hear(const Json& message);
  bool done() const { return left_ == 0; }
  /// Why no member can be used of those that there are, or empty: one can, or none is there.
  std::string unusable() const;
  /// What members have been given, a phrase for each of them.
  std::vector<std::string> running() const;
  /// The names of members that have not said who they are.
  std::vector<std::string> starting() const;
  /// A line for each member.
  std::string report() const;

 private:
  struct Member {
    std::size_t jobs = 1;
    enum class State { starting, working, refused } state = State::starting;
    std::string refusal;
    std::optional<RunInfo> info;        ///< what its log says
    Json environment = Json::object();  ///< likewise, by name
    std::vector<Chunk> chunks;          ///< with items that have no verdict yet
    int exits = 0;                      ///< of its Lockstep, since its last verdict
  };

  void hear_line(const std::string& name, Member& member, const std::string& line);
  void hear_environment(const std::string& name, Member& member, const Json& record);
  void hear_verdict(const std::string& name, Member& member, const Json& record);
  /// In what a member is not as we are; empty: it is alike.
  std::string difference(const Member& member) const;
  void accept(const std::string& name, Member& member);
  void refuse(const std::string& name, Member& member, const std::string& why);
  /// Takes back what a member had.
  void lose(const std::string& name, Member& member, const std::string& why);
  void give_up(std::size_t item);
  /// Gives what there is to a member that has room, or to all of them.
  void fill(const std::string& name, Member& member);
  void hand_out();
  void order(const std::string& name, Member& member, Chunk chunk);
  std::size_t slots() const;

  const Plan& plan_;
  const RunInfo& info_;
  const Json& environment_;
  const std::string eager_;
  ChunkPool pool_;
  std::size_t left_;                                        ///< items without a verdict
  std::map<std::size_t, std::vector<std::string>> losses_;  ///< of each item, with which members
  std::map<std::string, Member> members_;
  Json machines_ = Json::object();  ///< what each member runs on, for the record
};

}  // namespace lockstep
