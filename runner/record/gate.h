#pragma once

#include <map>
#include <optional>
#include <set>
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

/// A change, and what the gate says of it.
struct GatedChange {
  Change change;
  bool fails = false;
  const Allowance* allowed = nullptr;  ///< which lets it pass, or null
};

/// Two runs, how the second differs from the first, and whether that may be.
struct Gate {
  const RunRecord* before = nullptr;
  const RunRecord* after = nullptr;
  std::vector<GatedChange> changes;
  std::size_t unchanged = 0;
  std::vector<const Allowance*> unused;
  std::optional<EagerComparison> eager;  ///< where it was asked for; it fails nothing

  /// How many changes close it.
  std::size_t failing() const;
  bool is_open() const { return failing() == 0; }
  /// The changes of each transition that occurs, in the order of the table.
  std::map<Transition, std::vector<const GatedChange*>> by_transition() const;
};

/// How many of these changes close the gate.
std::size_t failing_of(const std::vector<const GatedChange*>& group);

/// The transitions that close a gate where nobody says otherwise.
std::set<Transition> closing_by_default();

/// `fail_on` has the transitions that close it.  Points into all that it is given.
Gate make_gate(const RunRecord& before, const RunRecord& after, const std::set<Transition>& fail_on,
               const std::vector<Allowance>& allowances);

}  // namespace lockstep
