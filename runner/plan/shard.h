#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/plan.h"

namespace lockstep {

/// One of several parts of a plan, for machines that know nothing of each other.
struct Shard {
  std::size_t number = 1;  ///< from 1
  std::size_t of = 1;

  bool operator==(const Shard&) const = default;
};

/// "2/5"; or "auto": what the job system says, by its variables, which `environment` reads (empty:
/// not set).  First counts what is said to Lockstep itself: LOCKSTEP_SHARD=2/5, or
/// LOCKSTEP_SHARD_COUNT=5 for a system that tells the number alone; then GitLab's, Buildkite's,
/// CircleCI's, those of SLURM's arrays and of Kubernetes' indexed jobs.
Result<Shard> parse_shard(const std::string& text,
                          const std::function<std::string(const char*)>& environment);

/// Leaves of a plan what one shard takes, in the same order.  Instances that share a graph stay
/// together.  Which shard takes a graph depends on the id of its first instance alone, so that a
/// new case moves no other one; or, with `seconds` (what verdicts took, by their ids), on these:
/// longest first, each to the shard that has least so far. An item that is not in `seconds` counts
/// as the median of the others. The items keep their places in the whole plan.
void take_shard(Plan& plan, const Shard& shard,
                const std::map<std::string, double>* seconds = nullptr);

}  // namespace lockstep
