#pragma once

#include <string>

#include "base/json.h"

namespace lockstep {

/// What identifies the machine and the process, for the record: CPU model, its instruction set
/// level, cores, memory, kernel, host name, and the environment variables that change what torch
/// computes.
Json machine_environment();

/// UTC, "2026-11-21T10:00:00Z".
std::string utc_now();

/// Bytes of memory that the machine has.
std::int64_t physical_memory();

}  // namespace lockstep
