#pragma once

#include <string_view>

namespace lockstep {

/// Names the judge: digest of the sources of this binary that decide verdicts (all of runner/ but
/// commands/ and workers/), hexadecimal.  The same for every build of the same sources, whatever
/// the compiler; judge_digest.cmake makes it, and the record's `machine` has the digest of the
/// binary itself.
std::string_view judge_digest();

}  // namespace lockstep
