#include "record/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/reader.h"
#include "base/text.h"
#include "record/unlike.h"

namespace lockstep {

std::vector<Allowance> decode_allowances(const JsonFile& file, Diagnostics& diagnostics) {
  std::vector<Allowance> allowances;
  Reader reader(file, diagnostics);
  const Node root{&file.root, ""};
  if (!reader.object(root, {"$schema", "format", "allow"})) return allowances;
  reader.format(root);
  std::vector<std::string> names;
  for (const TransitionInfo& each : all_transitions()) names.emplace_back(each.name);
  const auto allow = reader.required(root, "allow", "transitions that may be");
  if (!allow || !reader.list(*allow, "a list of transitions that may be")) return allowances;
  const std::vector<int> lines = lines_of_elements(file.text, allow->pointer);
  for (std::size_t i = 0; i < (*allow)->size(); ++i) {
    const Node rule = reader.element(*allow, i);
    if (!reader.object(rule, {"transition", "ids", "reason", "link"})) continue;
    Allowance& read = allowances.emplace_back();
    read.where = fmt::format("{}:{}", file.name, lines.at(i));
    if (const auto node = reader.required(rule, "transition", "one of " + enumerate(names))) {
      if (const auto word = reader.word(*node, names, "transition"))
        read.transition = find_transition(*word)->transition;
    }
    if (const auto node = reader.required(rule, "ids", "a list of ids or globs of them"))
      read.ids = reader.texts(*node, "a list of ids or globs of them");
    if (const auto node = reader.required(rule, "reason", "why it may be"))
      read.reason = reader.text(*node, "why it may be").value_or("");
    if (const auto node = reader.child(rule, "link"))
      read.link = reader.text(*node, "an address").value_or("");
  }
  return allowances;
}

std::size_t Gate::failing() const {
  return static_cast<std::size_t>(std::count_if(
      changes.begin(), changes.end(), [](const GatedChange& each) { return each.fails; }));
}

std::map<Transition, std::vector<const GatedChange*>> Gate::by_transition() const {
  std::map<Transition, std::vector<const GatedChange*>> groups;
  for (const GatedChange& each : changes) groups[each.change.transition].push_back(&each);
  return groups;
}

std::size_t failing_of(const std::vector<const GatedChange*>& group) {
  return static_cast<std::size_t>(
      std::count_if(group.begin(), group.end(), [](const auto* each) { return each->fails; }));
}

const ExpectationRef* GatedChange::known() const {
  const bool is_known = told != nullptr && told->account.standing == Standing::known;
  return is_known && told->account.expectation ? &*told->account.expectation : nullptr;
}

ClosedBy closed_by_default(Closes which) {
  ClosedBy closed_by;
  for (const TransitionInfo& each : all_transitions()) {
    if (each.fails) closed_by[each.transition] = which;
  }
  return closed_by;
}

/// See GatedChange::told.
static const Verdict* told_by(const RunRecord& before, const RunRecord& after,
                              const Change& change) {
  const Verdict* is = change.after ? &after.verdicts[*change.after] : nullptr;
  if (is != nullptr && (is->found.status != Status::conform || !change.before)) return is;
  return change.before ? &before.verdicts[*change.before] : is;
}

Gate make_gate(const RunRecord& before, const RunRecord& after, const ClosedBy& closed_by,
               const std::vector<Allowance>& allowances, bool other_selection) {
  Gate gate;
  gate.before = &before;
  gate.after = &after;
  gate.unlike = unlike(before, after);
  RunComparison comparison = compare_runs(before, after, other_selection);
  if (other_selection)
    gate.unlike.push_back(fmt::format(
        "the runs selected other instances: what both have is compared; verdicts left out: {} of "
        "the first alone, {} of the second alone",
        comparison.only_before, comparison.only_after));
  gate.unchanged = comparison.unchanged;
  std::set<const Allowance*> used;
  for (Change& change : comparison.changes) {
    GatedChange& gated = gate.changes.emplace_back();
    for (const Allowance& each : allowances) {
      if (each.transition != change.transition || !any_glob_matches(each.ids, change.id)) continue;
      used.insert(&each);
      if (gated.allowed == nullptr) gated.allowed = &each;
    }
    gated.told = told_by(before, after, change);
    const auto closes = closed_by.find(change.transition);
    gated.fails = gated.allowed == nullptr && closes != closed_by.end() &&
                  (closes->second == Closes::any || gated.known() == nullptr);
    gated.change = std::move(change);
  }
  for (const Allowance& each : allowances) {
    if (!used.contains(&each)) gate.unused.push_back(&each);
  }
  return gate;
}

}  // namespace lockstep
