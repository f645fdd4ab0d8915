#pragma once

#include <string>

#include "judge/judge.h"

namespace lockstep {

/// What differs between two results apart from the values, each as a phrase with both sides ("dtype
/// float32, compiled float64; requires_grad true, compiled false"); empty if nothing. Judged: kind
/// (tensor or scalar, and which), dtype, shape, device, layout, requires_grad, quantizer, strides
/// by the rule.  Where eager was executed on another device, its own stands for that of the path.
/// Not judged: conj and neg bits (Inductor resolves them; values are compared
/// resolved) and which Python object it is.
std::string metadata_difference(const DataValue& eager, const DataValue& compiled,
                                StrideRule strides,
                                const std::optional<CrossDevice>& cross_device = {});

/// Whether the values of two results can be compared: the kind, dtype and shape, and what their
/// bytes mean, are the same.  Other views are not compared: nothing would bound the work.
bool are_comparable(const DataValue& eager, const DataValue& compiled);

/// The first tensor of two executions whose strides differ by the rule, as a phrase with both
/// sides; empty if none does.
std::string stride_difference(const Repetition& eager, const Repetition& compiled, StrideRule rule);

/// The first difference in which outputs, inputs and gradients of a call share memory, or in the
/// storage offset of an output that shares, and how many more pairs differ; empty if none does.
/// Empty storages share nothing.
std::string alias_difference(const CallResult& eager, const CallResult& compiled);

}  // namespace lockstep
