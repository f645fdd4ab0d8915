#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json_lines.h"
#include "engine/process.h"
#include "run/chunks.h"
#include "run/driver.h"

namespace lockstep {

/// A cluster that executes a plan.  Hands its chunks to a process, the bridge, as JSON lines, and
/// takes their verdicts (docs/release/cluster.md).  Who executes which chunk when is the cluster's
/// business.
///
/// What is lost with a machine is executed once more, each graph alone; what is lost again is a
/// verdict, `worker_lost`.  A machine that says what cannot be is left out.  Every item gets one
/// verdict.
class Cluster : public Driver {
 public:
  /// `environment` as RunRecord has it; it grows by a hook.  `skip`, `seconds`: of chunks_of.
  Cluster(const Plan& plan, const Json& environment, const std::vector<bool>& skip,
          const std::map<std::string, double>& seconds, DriverHooks hooks);
  /// Everything ends that runs for it elsewhere.
  ~Cluster() override;

  /// Starts the bridge, tells it how to begin, and gives it all chunks.  `log`: where what it says
  /// on standard error goes.
  Result<void> connect(const ClusterOptions& options, const std::filesystem::path& log);
  /// Takes a message.  An error where nothing more can come.
  Result<void> hear(const Json& message);
  /// What is to be sent.
  const std::string& outgoing() const { return outgoing_; }

  bool done() override { return left_ == 0; }
  Result<void> step() override;
  std::vector<std::string> running() const override;
  std::vector<std::string> starting() const override;
  std::string report() const override;

 private:
  struct Order : Chunk {  ///< of items without a verdict
    bool alone = false;
    std::string lost;  ///< how it was the first time
  };

  void send(const Json& message);
  void order(Order chunk);
  void lose(const Order& chunk, const std::string& how);
  /// What is wrong with what a machine says of a chunk; empty: nothing.
  std::string take(const std::string& machine, const Json& line, Chunk& chunk);
  std::string take_environment(const std::string& machine, const Json& record);
  std::string take_verdict(const Json& record, Chunk& chunk);

  const Plan& plan_;
  const Json& environment_;
  DriverHooks hooks_;
  std::map<std::size_t, Order> chunks_;  ///< under way, by their numbers
  std::size_t next_ = 0;                 ///< number
  std::size_t left_ = 0;                 ///< items without a verdict
  std::set<std::string> left_out_, told_;
  Json machines_ = Json::object();  ///< what each runs on, for the record
  std::optional<Process> bridge_;
  std::optional<JsonLines> incoming_;
  std::string outgoing_;
  std::filesystem::path log_;
};

}  // namespace lockstep
