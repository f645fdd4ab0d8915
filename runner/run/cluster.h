#pragma once

#include <chrono>
#include <deque>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/process.h"
#include "run/dispatcher.h"

namespace lockstep {

/// Where a plan is executed, if not here.
struct ClusterOptions {
  std::vector<std::string> bridge;        ///< the program that speaks with the cluster (cluster.md)
  Json begin;                             ///< the first message for it
  std::map<std::string, double> seconds;  ///< what verdicts took in an earlier run, by their ids
  /// Seconds after which a run ends that has no member it can use, but some that it cannot.
  double patience = 30;
};

/// A connection with a cluster: a process, the bridge, to which a dispatcher's messages go and from
/// which it hears, as JSON lines.  With this object everything ends that runs for it elsewhere.
class Cluster {
 public:
  /// `log`: where what the bridge says on standard error goes.
  static Result<Cluster> connect(const ClusterOptions& options, const std::filesystem::path& log,
                                 Dispatcher& dispatcher);
  Cluster(Cluster&&) = default;
  ~Cluster();

  /// Waits until something is heard, at most `seconds`, and hands it to the dispatcher.
  Result<void> step(double seconds);

 private:
  using Clock = std::chrono::steady_clock;
  Cluster(Process process, std::filesystem::path log, Dispatcher& dispatcher, double patience)
      : process_(std::move(process)),
        log_(std::move(log)),
        dispatcher_(&dispatcher),
        patience_(patience) {}
  void flush();
  /// Hands on the lines that are whole.
  Result<void> hear();

  Process process_;
  std::filesystem::path log_;
  Dispatcher* dispatcher_;
  double patience_;
  Clock::time_point usable_ = Clock::now();  ///< when there was no unusable() last
  std::string to_send_, rest_;
};

}  // namespace lockstep
