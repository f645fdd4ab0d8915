#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "record/transitions.h"
#include "reports/style.h"

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

  std::size_t failing() const;
  /// The changes of each transition that occurs, in the order of the table.
  std::map<Transition, std::vector<const GatedChange*>> by_transition() const;
};

std::size_t failing_of(const std::vector<const GatedChange*>& group);

/// `fail_on` has the transitions that fail.  Points into all that it is given.
Gate make_gate(const RunRecord& before, const RunRecord& after, const std::set<Transition>& fail_on,
               const std::vector<Allowance>& allowances);

/// What a record's environment says of a worker, or of the "machine": a text; empty where it says
/// none.
std::string said_by(const RunRecord& record, const char* worker, const char* key);

/// "990 verdicts unchanged, 3 changes, 1 of which fails".
std::string gate_counts(const Gate& gate);
/// The same, and whether the gate is open.
std::string gate_outcome(const Gate& gate);
/// "eager: 3 of 993 instances differ, 2 cannot be told".
std::string eager_line(const EagerComparison& eager);
/// What the console says: what was compared, a count for each transition, each change (of every
/// transition so many; `verbose`: all), and one last line.
std::string gate_text(const Gate& gate, const Style& style, bool verbose);
/// For a comment on a merge request: at most 60,000 bytes of Markdown.
std::string gate_markdown(const Gate& gate);
/// All of it.
nlohmann::ordered_json gate_json(const Gate& gate);
/// A testcase for each change, one that fails or passes as the gate says.
std::string gate_junit(const Gate& gate);

}  // namespace lockstep
