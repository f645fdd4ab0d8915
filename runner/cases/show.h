#pragma once

#include <string>

#include "cases/case.h"

namespace lockstep {

/// A value of a program in the spelling of the worker protocol, as code: `%x`, `3`, `0.5`,
/// `float16`, `[1, 2]`.
std::string show_value(const Json& value);

/// The case as a person reads it: what it is about, the inputs as numbers, the program as code,
/// what is compared and how.
std::string show_case(const Case& declared, const std::string& instance);

}  // namespace lockstep
