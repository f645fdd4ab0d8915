#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "record/record.h"

namespace lockstep {

/// What became of a verdict, or of something that decides many, from one run to another.
enum class Transition {
  new_crash,
  new_error,
  new_divergence,
  refused,
  fell_back,
  not_judged,
  gone,
  path_absent,
  grade_lost,
  changed,
  case_changed,
  environment_changed,
  operator_removed,
  operator_appeared,
  path_appeared,
  new_case,
  now_judged,
  grade_gained,
  fixed,
};

/// Everything that depends on a transition alone.  The table in transitions.cpp is its only home.
struct TransitionInfo {
  Transition transition;
  std::string_view name;   ///< as in --fail-on, files of --allow and JSON
  std::string_view label;  ///< for people
  bool fails;              ///< whether it fails a gate where nobody says otherwise
  std::string_view meaning;
};

/// All transitions in the order of the enumeration: what is worse comes first.
std::span<const TransitionInfo> all_transitions();
const TransitionInfo& info(Transition transition);
/// The transition of that name, or nullptr.
const TransitionInfo* find_transition(std::string_view name);

/// One transition.
struct Change {
  Transition transition = Transition::changed;
  std::string id;  ///< of the verdict, path, operator or setting that it is about
  /// The verdicts, as indices into the records' verdicts; empty where there is none.
  std::optional<std::size_t> before, after;
  std::string text;  ///< "conform (bits) → value diverges (close): y: 12 of 20 elements differ"
};

/// How one run differs from another.
struct RunComparison {
  std::vector<Change> changes;  ///< in the order of the table, and of the plans
  std::size_t unchanged = 0;    ///< verdicts that both have and that say the same
  /// Verdicts of one run alone.
  std::size_t only_before = 0, only_after = 0;
};

/// Compares two runs verdict by verdict. If a verdict diverges in both runs, another finding is a
/// change, known or not: another status, fingerprint, output, number of elements, distance or worst
/// element. A verdict whose path the other run has not is not told by
/// itself, nor one of a sweep over an operator that the other run knows nothing of. With `common`,
/// for runs that were asked for other instances, one that is missing is only counted.
RunComparison compare_runs(const RunRecord& before, const RunRecord& after, bool common = false);

/// An instance whose eager result differs between the runs.
struct EagerChange {
  std::string instance;
  std::string text;  ///< "other bits", "returned → raises RuntimeError"
};

/// How eager of one run differs from eager of another.
struct EagerComparison {
  std::vector<EagerChange> changes;  ///< in the order of the later plan
  std::size_t same = 0;
  /// Instances of both whose logs do not say what eager did: it crashed, it disagrees with itself,
  /// or the log is too old.
  std::size_t unknown = 0;
};

/// Compares what eager did with each instance that both runs have, bit by bit.  Between two
/// releases it may differ, and nothing follows of it for a compiler.  An instance whose program is
/// another one is left out.
EagerComparison compare_eager(const RunRecord& before, const RunRecord& after);

/// Why a run cannot be compared: its log has no end, its verdicts are not those of its plan, or it
/// is a shard. Empty where it can.
std::string unfit_to_compare(const RunRecord& record);

}  // namespace lockstep
