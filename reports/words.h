#pragma once

#include "base/json.h"

namespace lockstep {

/// The tables of words as one document, for other languages: the page's scripts, our Python, other
/// people's tools. Each table is an array in the order of its enumeration;
/// what a column means is said where the table is.  `reports/words.json` is this, held equal by a
/// test.
Json words_document();

}  // namespace lockstep
