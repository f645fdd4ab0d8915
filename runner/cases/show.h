#pragma once

#include <string>

#include "cases/case.h"

namespace lockstep {

/// The case as a person reads it: what it is about, the inputs as numbers, the program as code,
/// what is compared and how.
std::string show_case(const Case& declared, const std::string& instance);

}  // namespace lockstep
