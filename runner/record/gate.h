#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/transitions.h"

namespace lockstep {

/// Transitions that somebody has looked at and lets pass.
struct Allowance {
  std::string where;  ///< "allow.json:7"
  Transition transition = Transition::changed;
  std::vector<std::string> ids;  ///< globs of Change::id
  std::string reason, link;
};

/// Reads `{"format": 1, "allow": [{"transition": …, "ids": […], "reason": …, "link": …}]}`.
std::vector<Allowance> decode_allowances(const JsonFile& file, Diagnostics& diagnostics);

/// Which changes of a transition close a gate.
enum class Closes {
  any,
  unknown,  ///< those whose verdict no expectation of the suite accounts for
};

/// The transitions that close a gate.
using ClosedBy = std::map<Transition, Closes>;

/// Those that close a gate where nobody says otherwise: `any` of them for a release, what is
/// `unknown` for a nightly.
ClosedBy closed_by_default(Closes which);

/// A change, and what the gate says of it.
struct GatedChange {
  Change change;
  bool fails = false;
  const Allowance* allowed = nullptr;  ///< which lets it pass, or null
  /// The verdict that says what happened: the later one, or the earlier one where that conforms or
  /// is missing. Null of what is no verdict.
  const Verdict* told = nullptr;

  /// The expectation that accounts for it, or null.
  const ExpectationRef* known() const;
};

/// Two runs, how the second differs from the first, and whether that may be.
struct Gate {
  const RunRecord* before = nullptr;
  const RunRecord* after = nullptr;
  std::vector<GatedChange> changes;
  std::size_t unchanged = 0;
  std::vector<const Allowance*> unused;
  /// Why the runs are not alike in what they were made of and with (unlike.h), and what they
  /// selected.
  std::vector<std::string> unlike;
  std::optional<EagerComparison> eager;  ///< where it was asked for; it fails nothing

  /// How many changes close it.
  std::size_t failing() const;
  bool is_open() const { return failing() == 0; }
  /// The changes of each transition that occurs, in the order of the table.
  std::map<Transition, std::vector<const GatedChange*>> by_transition() const;
};

/// How many of these changes close the gate.
std::size_t failing_of(const std::vector<const GatedChange*>& group);

/// Points into all that it is given. `other_selection`: the runs were asked for other instances;
/// those of both are compared, and no verdict is missed.
Gate make_gate(const RunRecord& before, const RunRecord& after, const ClosedBy& closed_by,
               const std::vector<Allowance>& allowances, bool other_selection = false);

}  // namespace lockstep
