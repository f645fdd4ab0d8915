#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/json.h"
#include "plan/filter.h"
#include "plan/plan.h"
#include "requests/failure.h"
#include "requests/requests.h"
#include "run/run.h"

namespace lockstep {

/// What `--on` says, as the bridge is told: {"here": true}, {"address": …}, {"file": …}; null for
/// `local` and where it says nothing.  Files begin in `directory`.
Result<Json> parse_cluster(const std::string& text, const std::filesystem::path& directory);

/// How a run is executed on the cluster that it names; empty: here.  `directory` is that of the
/// run, `seconds` are as ClusterOptions has them.
std::optional<ClusterOptions> cluster_options(const RunRequest& request, const Filter& filter,
                                              const Plan& plan,
                                              const std::filesystem::path& directory,
                                              std::map<std::string, double> seconds);

/// The run whose parts a member of a cluster executes, from the cluster's message.
Result<RunRequest> decode_member(const Json& message);

/// In what this machine, of which the rest is said, is not as one whose verdicts it may make
/// (MemberRequest::alike); empty: it is alike.
std::string difference_from(const Json& alike, const RunInfo& info, const std::string& eager,
                            const Json& eager_environment, const Json& machine);

/// What standard input says first.  Standard output is the log's from now on; what is printed there
/// goes to standard error.
Answer<MemberRequest> read_member();

}  // namespace lockstep
