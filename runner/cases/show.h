#pragma once

#include <string>

#include "cases/case.h"
#include "program/print.h"

namespace lockstep {

/// The case as a person reads it: its title, inputs as numbers, the program as code, and the
/// comparisons.
std::string show_case(const Case& declared, const std::string& instance,
                      WithSources sources = WithSources::no);

}  // namespace lockstep
