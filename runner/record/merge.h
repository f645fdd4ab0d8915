#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace lockstep {

/// Puts the shards of a run together (plan/shard.h), given in any order. The record is that of one
/// run, except for its times. Reports all errors at once: shards that are missing, double,
/// unfinished, or of another run, suite or environment, and verdicts that two shards have.
tl::expected<RunRecord, std::vector<Error>> merge(std::vector<RunRecord> shards);

}  // namespace lockstep
