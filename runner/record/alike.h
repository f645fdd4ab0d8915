#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace lockstep {

/// Whether verdicts of two runs may stand in one log.  Those of two torches, two levels of the CPU
/// or two suites would pass for those of one.

/// The names of the digests in which two runs differ: "cases", "judge".
std::vector<std::string> other_digests(const RunInfo& a, const RunInfo& b);

/// What an environment says of a worker, or of the "machine", as a text; empty where it says
/// nothing.
std::string said_by(const nlohmann::ordered_json& environment, std::string_view worker,
                    std::string_view key);

/// What two environments of a worker say of one thing.
struct OtherSetting {
  std::string key;
  nlohmann::ordered_json one, other;
};

/// What decides results and both environments of a worker say differently, of its torch and the
/// level of its CPU.
std::vector<OtherSetting> other_settings(const nlohmann::ordered_json& one,
                                         const nlohmann::ordered_json& other);

/// What two workers of a run have pinned otherwise (design/protocol.md, `pin NAME`): of TF32, of
/// cuBLAS and cuDNN; `one` is eager's.
std::vector<OtherSetting> other_pins(const nlohmann::ordered_json& eager,
                                     const nlohmann::ordered_json& worker);

}  // namespace lockstep
