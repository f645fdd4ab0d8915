#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cases/case.h"
#include "explain/derive.h"

// Smaller cases that a case may be replaced by, the boldest first.  None of them need be right:
// whether it diverges as before, an execution says.
namespace lockstep {

/// Without contexts, `raises`, a backward, flags and the like, each alone; where the divergence
/// `may_drift`, also one call instead of several, without policies, with any number of threads.
std::vector<Case> simpler_settings(const Case& whole, bool may_drift);

/// One output alone, and the last steps away.
std::vector<Case> fewer_outputs(const Case& whole);

/// Steps whose results become inputs with eager's values: halves of the program, quarters, … single
/// ones.
std::vector<Case> cut_steps(const Case& whole, const GivenValues& eager);

/// Steps left out: an argument of the same shape and dtype takes the place of the result.
std::vector<Case> bypassed_steps(const Case& whole, const GivenValues& eager);

/// Inputs that are smaller along the dimensions of one size, around an element: `worst`, an index
/// into what differs; empty: the first one.
std::vector<Case> narrowed(const Case& whole, const std::vector<std::int64_t>& worst);

/// Contiguous inputs in storages of their own, without dimensions of size 1.
std::vector<Case> plainer_layouts(const Case& whole);

/// The dtype of its kind that people would write first, float32 or int64; null: it is that one, or
/// there is none.
const Dtype* plainer_dtype(const Dtype& dtype);

/// Inputs, and arguments, of plainer dtypes: all of one, its inputs alone, each of them.  None
/// where the case asks for bits somewhere: those of another dtype are others.
std::vector<Case> plainer_dtypes(const Case& whole);

/// Inputs of fewer and shorter numbers.
std::vector<Case> simpler_values(const Case& whole);

/// Calls without some arguments: each by name, the last one by position; and with plainer numbers,
/// 0, 1, and those of fewer digits.
std::vector<Case> fewer_arguments(const Case& whole);

/// Replaces `prepare` by the values that it makes, if they are not too many; else the unchanged
/// case.
Case with_literal_inputs(const Case& whole, const GivenValues& eager);

}  // namespace lockstep
