#pragma once

#include <optional>
#include <string>

#include "record/record.h"

namespace lockstep {

/// Whether verdicts of two runs may stand in one log.  Those of two torches, two levels of the CPU
/// or two suites would pass for those of one.

/// Of what the digests of two runs differ: "cases, judge"; empty where in nothing.
std::string other_digests(const RunInfo& a, const RunInfo& b);

/// What two environments of a worker say of one thing, as JSON.
struct OtherSetting {
  std::string key, one, other;
};

/// The first thing that decides results and that both environments of a worker say differently, of
/// its torch and the level of its CPU.
std::optional<OtherSetting> other_setting(const nlohmann::ordered_json& one,
                                          const nlohmann::ordered_json& other);

}  // namespace lockstep
