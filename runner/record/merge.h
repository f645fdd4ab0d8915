#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace lockstep {

/// Puts the shards of a run together (plan/shard.h), in whatever order they are given: the record
/// of the run as it would have been in one piece, but for its times.  Shards that are missing, that
/// are there twice, that did not come to their end, that are of another run, another suite or
/// another environment, and verdicts that two shards have are errors, all at once.
tl::expected<RunRecord, std::vector<Error>> merge(std::vector<RunRecord> shards);

}  // namespace lockstep
