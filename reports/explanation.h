#pragma once

#include <string>

#include "record/explanation.h"
#include "reports/style.h"

namespace lockstep {

/// An explanation as the console shows it: the sentence first, then layer, operator, numbers, knobs
/// and pass, each with what it rests on, and what is open.
std::string explanation_text(const Explanation& explanation, const Style& style);

}  // namespace lockstep
