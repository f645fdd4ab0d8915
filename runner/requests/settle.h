#pragma once

#include <string>
#include <string_view>

#include "requests/failure.h"
#include "requests/requests.h"

namespace lockstep {

/// Refuses a request that contradicts itself, and writes into it what is left to chance or to the
/// job system: the seeds, and which shard it is.  Who repeats it by its words gets the same.
Answer<void> settle(RunRequest& request);

/// What --fresh-seed says where no inputs are drawn that nobody has seen.
inline constexpr std::string_view kNoneFresh = "none";

/// The same of the seed of such inputs: empty becomes one by chance.
Answer<void> settle_fresh(std::string& seed);

/// The same of a seed, of the flag of this name: empty becomes one by chance.
Answer<void> settle_seed(const std::string& flag, std::string& seed);

}  // namespace lockstep
