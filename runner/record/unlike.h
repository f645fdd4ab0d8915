#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace lockstep {

/// Why a difference between two runs may come from how they were made and not from the torch or
/// the backend that is tried: sentences, empty where there is none. "torch has no CUDA before
/// (2.13.0+cpu), and CUDA 13.2 after (2.15.0+cu132)": wheels of two kinds, CPUs, threads, suites,
/// libraries, packages of a backend.
std::vector<std::string> unlike(const RunRecord& before, const RunRecord& after);

}  // namespace lockstep
