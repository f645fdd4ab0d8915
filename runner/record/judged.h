#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "record/record.h"

namespace lockstep {

/// How much must be judged where nobody says otherwise, of levels and with --strict; percent.
constexpr double kMinJudged = 90;

/// "97.3 %": a part of a whole, as every report and page has it. It is rounded down, so that only
/// all is 100 %, and what is not nothing is 0.1 % at least; "–" of nothing.
std::string rate_text(std::size_t part, std::size_t whole);

/// How many of the verdicts that could be judged were judged.
struct Judged {
  /// Verdicts that were judged: StatusInfo::judged().
  std::size_t judged = 0;
  /// These, and those that could have been. Not counted: what the case, torch or the reference
  /// lacks, what the path declares as unsupported, and errors of a front end that is not the
  /// path's.
  std::size_t could = 0;
  /// 100 where nothing could be judged.
  double percent() const;
};

Judged judged(const RunRecord& record);

/// How much of a run must be judged, percent: what its record demands; else with `strict`
/// kMinJudged; else nothing.
std::optional<double> min_judged(const RunInfo& info, bool strict);

/// A sentence where less was judged than must be, which fails the run; else empty.  "judged 40 of
/// 100 verdicts that could be (40.0 %), fewer than the 90 % demanded: 60 refused"; "judged nothing
/// of mine.json: torch 2.13.0 has no torch.nn.functional.gleu": of a case of the user's, unless
/// case or path says that it cannot be.
std::string judged_too_little(const RunRecord& record, bool strict);

}  // namespace lockstep
