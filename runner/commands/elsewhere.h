#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/json.h"
#include "commands/options.h"
#include "plan/filter.h"
#include "run/run.h"
#include "run/session.h"

namespace lockstep {

/// What `--on` says, as the bridge is told: {"here": true}, {"address": …}, {"file": …}; null for
/// `local`.  Files begin in `directory`.
Result<Json> parse_cluster(const std::string& text, const std::filesystem::path& directory);

/// How a run is executed on the cluster of its options; empty: here.  `seconds` as ClusterOptions
/// has them.
std::optional<ClusterOptions> cluster_options(const Options& options, const Filter& filter,
                                              const Plan& plan,
                                              const std::filesystem::path& directory,
                                              std::map<std::string, double> seconds);

/// Of `serve`: the options of the run of which it executes parts, with what is told to it.
/// Standard output is the log's from now on; what is printed there goes to standard error.
struct Service {
  Options options;
  std::shared_ptr<Orders> orders;
  int log_to = -1;
};
Result<Service> begin_service();

/// Executes what it is told to until that ends.
Exit serve(const Service& service, const Plan& plan, Session& session, RunSettings settings);

}  // namespace lockstep
