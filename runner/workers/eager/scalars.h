#pragma once

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

namespace lockstep::eager {

/// A `scalar` step: Python's arithmetic on ints, floats and bools, by the closed list of names of
/// the protocol.  Raises what Python raises (PythonError); Unsupported where Python's result has no
/// place here: ints beyond 64 bits, complex results, operands that are tensors.
c10::IValue scalar_step(const std::string& name, const std::vector<c10::IValue>& operands);

}  // namespace lockstep::eager
