#pragma once

#include <string>

#include "record/gate.h"

namespace lockstep {

/// A picture of the verdicts that count elsewhere after than before, an SVG in HTML: on the left
/// the columns from which they come, on the right those to which they go, bands between them as
/// wide as they are many. It says the same in words. Empty where nothing moves.
std::string gate_flow(const Gate& gate);

}  // namespace lockstep
