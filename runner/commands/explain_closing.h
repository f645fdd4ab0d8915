#pragma once

#include "commands/gate_sides.h"
#include "commands/options.h"
#include "record/gate.h"

namespace lockstep {

/// Explains what closes a gate, the example of each row, with the torch by which the later run was
/// made; until the seconds of the options are over or somebody interrupts. What is found goes into
/// `after`, which is the gate's later run, and into its log, behind the end. What cannot be
/// explained is said on standard error.
void explain_closing(const Gate& gate, RunRecord& after, const GateSides& sides,
                     const GateOptions& options);

}  // namespace lockstep
