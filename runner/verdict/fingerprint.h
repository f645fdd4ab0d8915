#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verdict/verdict.h"

namespace lockstep {

/// What went wrong, by a name that is the same whatever the dtype, the shape, the path, the CPU and
/// the release: "softshrink:eager-nan".  Before the colon stands what computed it (operators_of),
/// with "-gradient" where a gradient is wrong; after it the class of the difference:
///   eager-nan, compiled-nan, eager-infinity, compiled-infinity    one side alone has it
///   nan, infinity                         some elements are the one and some the other
///   infinity-sign, zero-sign              both have it, with other signs
///   value, integer      finite numbers; integers and booleans.  How far apart they are depends on
///                       the dtype, so it is a matter of the grade, not of the name
///   dtype, shape, strides, device, layout, requires_grad, quantizer, type     of the metadata
///   alias, mutation     who shares memory with whom; an input after the call
///   CLASS-words         an error, with the first words of its message; CLASS-not-EAGERS where
///                       eager raises another; EAGERS-lost where compiled raises none
///   generator, mode-MODE, version, memory, overwritten    what a call left behind
///   unstable            only some executions of the compiled program are wrong
///   STATUS, STATUS-in-STAGE       everything else
/// Which side is wrong is no part of it: without a gold (float64) nobody can tell, and where both
/// round it changes with the dtype.
struct Fingerprint {
  std::string name;
  std::optional<Grade> grade;  ///< the worst of what it made differ; empty where nothing is graded

  bool operator==(const Fingerprint&) const = default;
};

/// What a verdict found, the most serious first: the fingerprints of its differences, each name
/// once. Empty for what conforms and what is unsupported; else there is at least one.
std::vector<Fingerprint> fingerprints_of(const CaseFacts& facts, const Findings& found);
inline std::vector<Fingerprint> fingerprints_of(const Verdict& verdict) {
  return fingerprints_of(verdict.facts, verdict.found);
}

/// The fingerprints as reports put verdicts together by, one for each of fingerprints_of: where
/// `explain` has said who did it, its operators stand in the name, and the setting that ends the
/// divergence behind it: "rsqrt:value/fall_back".  Rules go by fingerprints_of alone: what nobody
/// has explained yet has no other name.
std::vector<Fingerprint> explained_fingerprints_of(const Verdict& verdict);

/// The class of the values of an output that differ: "eager-nan", "value".
std::string class_of_values(const OutputComparison& output);

/// The name of a program in a fingerprint: its operators in their order, each once, without
/// namespace, overload and the underscore of those that work in place ("linear+relu"), for all
/// these are one lowering; what only asks for sizes does not count.  A program of more than three,
/// or of none, is named by its case.
std::string operators_of(std::span<const std::string> operators, std::string_view instance);

/// Whether a fingerprint is of a program that returns nothing: an error, which has the name of a
/// class, a crash, or a time-out.
bool is_of_an_end(std::string_view fingerprint);

/// What stands before the colon, without "-gradient".
std::string_view operators_of(std::string_view fingerprint);

}  // namespace lockstep
