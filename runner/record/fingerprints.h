#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "verdict/fingerprint.h"

namespace lockstep {

/// All verdicts of a run that have one fingerprint (explained_fingerprints_of).  Points into the
/// record.
struct FingerprintGroup {
  std::string name;
  std::vector<const Verdict*> verdicts;  ///< in the order of the run
  std::size_t failing = 0;               ///< of them, how many fail the run
  /// Of those that fail, how many have no other fingerprint: so many a fix of it would mend.
  std::size_t alone = 0;
  std::set<std::string> dtypes;    ///< of the inputs of their cases
  std::vector<std::string> paths;  ///< as layers are ordered, then as the run names them
  /// The layers on which it begins, in that order: on each below, the instance was judged and does
  /// not have this fingerprint.  Empty where the run cannot tell.
  std::vector<std::string> begins;
  std::optional<Grade> grade;  ///< the worst of what it made differ
  /// How often which side is nearer to the gold: Verdict::nearer of those that say it.
  std::map<Nearer, std::size_t> nearer;
  const Verdict* example = nullptr;  ///< the smallest (is_smaller)
};

/// The fingerprints of a run's verdicts: those with most failing verdicts first, then those with
/// most verdicts, then by name.
std::vector<FingerprintGroup> fingerprint_groups(const RunRecord& record, bool strict);

/// The operators that a fingerprint accuses, as it names them: "add", "linear". None where it is
/// named by a case.
std::set<std::string> accused_by(std::string_view fingerprint);
/// Those that any fingerprint of a verdict accuses, as explained.
std::set<std::string> accused_by(const Verdict& verdict);

/// Whether the verdict shows its fingerprint by less: fewer operators, then fewer elements, then a
/// shorter id.
bool is_smaller(const Verdict& a, const Verdict& b);

}  // namespace lockstep
