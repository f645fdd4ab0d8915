#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "workers/eager/held.h"
#include "workers/eager/progress.h"

namespace lockstep::eager {

/// `run` requests for one device that one child takes, in this order; mostly one.
using Batch = std::vector<nlohmann::json>;

/// A child that this worker ended, and not what it executed, leaves a line in this file of the
/// request's `out`.
inline constexpr const char* kFaultFile = "fault";

/// What `hello` asks of every execution.
struct Limits {
  int threads = 1;                 ///< intra-op threads
  std::uint64_t memory_bytes = 0;  ///< address space; 0 is no limit
  std::uint64_t file_bytes = 0;    ///< largest file; 0 is no limit
  DigestLibraries digests;         ///< `hello.digests`: no limit, but asked of every execution, too
};

/// Writes one line of the protocol whole.  False if the reader is gone.
bool write_line(int fd, const nlohmann::ordered_json& message);

/// A forked child's whole life: becomes the leader of its own process group that dies with
/// `parent`, takes the limits upon itself, executes one request after the other and writes their
/// `observation.json`.  What it prints meanwhile goes to `stderr` in the request's `out`; that
/// they started and their stages are told on `protocol_fd`.  Never returns: its end is that of an
/// execution, whose exit status it has; of those before it says that they ended, and counts them.
[[noreturn]] void run_child(const Batch& batch, const Limits& limits, int protocol_fd, int parent,
                            Progress& progress);

}  // namespace lockstep::eager
