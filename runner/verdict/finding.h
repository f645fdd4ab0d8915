#pragma once

#include <string>

#include "verdict/verdict.h"

namespace lockstep {

/// What the judge found, in one sentence about its worst output: how many elements differ and in
/// which ways, how far at most, the first of them with up to two inputs, and who is nearer to the
/// truth: "y: 1,030 of 65,536 differ: 1,030 last bits; at most 2 ulp; first x = -0.9995 (0xbbff):
/// eager -4.5, compiled -4.496; eager nearer to fp64".  Where no element differs, the reason.
std::string finding(const Findings& found);

/// "x = 1.5 (0x3e00), k = 2 (0x02): eager 3.0, compiled nan", with at most so many inputs; of an
/// element without inputs "at [0, 7]: eager …".
std::string describe(const FirstDifference& first, std::size_t inputs);

}  // namespace lockstep
