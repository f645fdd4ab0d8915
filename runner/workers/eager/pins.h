#pragma once

#include <nlohmann/json.hpp>

// What of CUDA's libraries decides the last bits of a result, set alike in every worker.
namespace lockstep::eager {

/// Sets it, before any of the libraries is initialised: no TF32, no reductions in 16 bits, cuDNN
/// deterministic and without trials, cuBLAS with a workspace of a fixed size.  With LOCKSTEP_PINS
/// `off` everything stays as torch has it.
void pin();

/// `pin NAME` of `hello`'s environment: how each is set now.
nlohmann::ordered_json pins();

}  // namespace lockstep::eager
