#include "record/transitions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>

#include "base/enum_table.h"
#include "base/json.h"
#include "base/text.h"
#include "plan/plan.h"
#include "record/alike.h"
#include "verdict/fingerprint.h"

namespace lockstep {
namespace {

constexpr std::array kTransitions = {
    TransitionInfo{Transition::new_crash, "new_crash", "new crash", true,
                   "the process dies, hangs or lacks memory; it did not before"},
    TransitionInfo{Transition::new_error, "new_error", "new error", true,
                   "one side raises another error, or the compiler fails; they did not before"},
    TransitionInfo{Transition::new_divergence, "new_divergence", "new divergence", true,
                   "the result diverges from eager's; it did not before"},
    TransitionInfo{Transition::refused, "refused", "refused", true,
                   "the compiler refuses a program that it took before"},
    TransitionInfo{Transition::fell_back, "fell_back", "fell back", true,
                   "the path's own code no longer executes it, or nothing is compiled"},
    TransitionInfo{Transition::not_judged, "not_judged", "not judged", true,
                   "no longer judged: unsupported, inconclusive or not compared"},
    TransitionInfo{Transition::gone, "gone", "gone", true, "the verdict is missing"},
    TransitionInfo{Transition::path_absent, "path_absent", "path absent", true,
                   "a path no longer has verdicts"},
    TransitionInfo{Transition::grade_lost, "grade_lost", "grade lost", false,
                   "it conforms, but by a less strict policy than before"},
    TransitionInfo{Transition::changed, "changed", "changed", false,
                   "it diverges in both runs, with another status, number or element"},
    TransitionInfo{Transition::case_changed, "case_changed", "case changed", false,
                   "the program of the case has changed: not comparable"},
    TransitionInfo{Transition::environment_changed, "environment_changed", "environment changed",
                   false, "torch, the CPU, the level or the suite has changed"},
    TransitionInfo{Transition::operator_removed, "operator_removed", "operator removed", false,
                   "sweeps no longer take an operator"},
    TransitionInfo{Transition::operator_appeared, "operator_appeared", "operator appeared", false,
                   "sweeps take a new operator"},
    TransitionInfo{Transition::path_appeared, "path_appeared", "path appeared", false,
                   "a path has verdicts for the first time"},
    TransitionInfo{Transition::new_case, "new_case", "new case", false, "the verdict is new"},
    TransitionInfo{Transition::now_judged, "now_judged", "now judged", false,
                   "it conforms; it was not judged before"},
    TransitionInfo{Transition::grade_gained, "grade_gained", "grade gained", false,
                   "it conforms by a stricter policy than before"},
    TransitionInfo{Transition::fixed, "fixed", "fixed", false, "it conforms; it did not before"},
};

static_assert(has_every_row(kTransitions, &TransitionInfo::transition));

/// The transition of a verdict that gets there, if no row says it better.
struct BecameRow {
  Severity severity;
  Transition became;
};
constexpr std::array kBecame = {BecameRow{Severity::conforms, Transition::fixed},
                                BecameRow{Severity::nothing, Transition::not_judged},
                                BecameRow{Severity::refused, Transition::refused},
                                BecameRow{Severity::fell_back, Transition::fell_back},
                                BecameRow{Severity::divergence, Transition::new_divergence},
                                BecameRow{Severity::error, Transition::new_error},
                                BecameRow{Severity::crash, Transition::new_crash}};
static_assert(has_every_row(kBecame, &BecameRow::severity));

/// What a verdict that does not conform found, as one text: two that are equal say the same.
std::string finding_of(const Verdict& verdict) {
  std::string text(info(verdict.found.status).name);
  for (const Fingerprint& fingerprint : fingerprints_of(verdict)) text += "\n" + fingerprint.name;
  for (const OutputComparison& output : verdict.found.outputs) {
    if (output.status == Status::conform) continue;
    text += fmt::format("\n{} {} {} {} {} {} {} [{}] {} {}", output.name, info(output.status).name,
                        output.elements, output.differing, output.max_abs.value_or(0),
                        output.max_rel.value_or(0), output.max_ulp.value_or(0),
                        fmt::join(output.worst, ","), output.eager, output.compiled);
  }
  for (const auto* error : {&verdict.found.eager_error, &verdict.found.compiled_error}) {
    if (*error) text += "\n" + (*error)->class_name;
  }
  return text;
}

std::optional<Transition> transition_of(const Verdict& before, const Verdict& after) {
  const Severity from = info(before.found.status).severity, to = info(after.found.status).severity;
  if (to == Severity::conforms) {
    if (from == Severity::nothing) return Transition::now_judged;
    if (from != Severity::conforms) return Transition::fixed;
    const Grade was = before.found.grade.value_or(Grade::bits),
                is = after.found.grade.value_or(Grade::bits);
    if (was == is) return std::nullopt;
    return is > was ? Transition::grade_lost : Transition::grade_gained;
  }
  if (from == to) {
    if (from == Severity::nothing || finding_of(before) == finding_of(after)) return std::nullopt;
    return Transition::changed;
  }
  // What failed in a worse way fails in another way now, or says that it cannot; that is no new
  // failure.
  const bool failed = from >= Severity::divergence;
  const bool better = to == Severity::refused || (to >= Severity::divergence && to < from);
  return failed && better ? Transition::changed : kBecame[static_cast<std::size_t>(to)].became;
}

/// "value diverges (close), known: y: 12 of 20 elements differ".
std::string said(const Verdict& verdict, bool with_reason) {
  std::string text(info(verdict.found.status).label);
  if (verdict.found.grade) text += fmt::format(" ({})", name_of(*verdict.found.grade));
  if (verdict.account.standing == Standing::known) text += ", known";
  if (with_reason && !verdict.found.reason.empty()) text += ": " + one_line(verdict.found.reason);
  return text;
}

/// Whether two verdicts are of one program, as far as the logs have it: a long one is cut there.
bool same_program(const Verdict& a, const Verdict& b) {
  return a.facts.program.empty() || b.facts.program.empty() || a.facts.program == b.facts.program;
}

std::set<std::string> paths_of(const RunRecord& record) {
  std::set<std::string> paths;
  for (const Verdict& verdict : record.verdicts) paths.insert(verdict.facts.path);
  return paths;
}

std::set<std::string> operators_of(const RunRecord& record) {
  std::set<std::string> names;
  for (const Verdict& verdict : record.verdicts)
    names.insert(verdict.facts.operators.begin(), verdict.facts.operators.end());
  return names;
}

/// The operator for which a sweep's verdict is there, if the other run knows nothing of it.
std::optional<std::string> swept_stranger(const Verdict& verdict,
                                          const std::set<std::string>& known) {
  if (!contains(verdict.facts.tags, "sweep")) return std::nullopt;
  for (const std::string& name : verdict.facts.operators) {
    if (!known.contains(name)) return name;
  }
  return std::nullopt;
}

/// "returned", "raises RuntimeError"; empty where the log does not say.
std::string what_eager_did(const Verdict& verdict) {
  if (verdict.found.eager_error) return "raises " + verdict.found.eager_error->class_name;
  return verdict.found.eager_digest.empty() ? "" : "returned";
}

/// In what the two runs were made differently, a line for each.
std::vector<Change> changes_of_setting(const RunRecord& before, const RunRecord& after) {
  std::vector<Change> changes;
  const auto add = [&](const std::string& what, const std::string& was, const std::string& is) {
    if (was != is)
      changes.push_back(
          {Transition::environment_changed, what, std::nullopt, std::nullopt, was + " → " + is});
  };
  const auto or_none = [](const std::string& text) { return text.empty() ? "none" : text; };
  add("lockstep", before.info.version, after.info.version);
  add("level", or_none(before.info.level), or_none(after.info.level));
  for (const std::string& name : other_digests(before.info, after.info)) {
    const auto of = [&name](const RunInfo& run) {
      const auto found = run.digests.find(name);
      return found == run.digests.end() ? std::string("none") : found->second.substr(0, 8);
    };
    add("digest of " + name, of(before.info), of(after.info));
  }
  for (const auto& [worker, values] : after.environment.items()) {
    if (worker == "machine" || !before.environment.contains(worker) || !values.is_object())
      continue;
    const auto& old = before.environment[worker];
    std::vector<OtherSetting> others = other_settings(old, values);
    if (old.is_object() && old.contains("python") && values.contains("python"))
      others.push_back({"python", old["python"], values["python"]});
    for (const OtherSetting& each : others)
      add(fmt::format("{} of the {} worker", each.key, worker), plain_text(each.one),
          plain_text(each.other));
  }
  return changes;
}

}  // namespace

std::span<const TransitionInfo> all_transitions() { return kTransitions; }

const TransitionInfo& info(Transition transition) {
  return kTransitions[static_cast<std::size_t>(transition)];
}

const TransitionInfo* find_transition(std::string_view name) {
  return find_named(kTransitions, name);
}

RunComparison compare_runs(const RunRecord& before, const RunRecord& after, bool common) {
  RunComparison result;
  result.changes = changes_of_setting(before, after);
  const auto add = [&](Transition transition, std::string id, std::optional<std::size_t> was,
                       std::optional<std::size_t> is, std::string text) {
    result.changes.push_back({transition, std::move(id), was, is, std::move(text)});
  };
  const std::set<std::string> old_paths = paths_of(before), new_paths = paths_of(after);
  for (const std::string& path : old_paths) {
    if (common || new_paths.contains(path)) continue;
    const auto& absent = after.info.absent_paths;
    const auto found = std::find_if(absent.begin(), absent.end(),
                                    [&](const AbsentPath& each) { return each.name == path; });
    add(Transition::path_absent, path, {}, {},
        found == absent.end() ? "it has no verdicts" : found->reason);
  }
  for (const std::string& path : new_paths) {
    if (!common && !old_paths.contains(path))
      add(Transition::path_appeared, path, {}, {}, "it had no verdicts");
  }
  const std::set<std::string> old_operators = operators_of(before),
                              new_operators = operators_of(after);
  std::map<std::string, std::size_t> removed, appeared;  // with the number of their verdicts
  std::unordered_map<std::string_view, std::size_t> places;
  for (std::size_t i = 0; i < before.verdicts.size(); ++i) places[before.verdicts[i].facts.id] = i;
  std::set<std::size_t> met;
  for (std::size_t i = 0; i < after.verdicts.size(); ++i) {
    const Verdict& is = after.verdicts[i];
    const auto found = places.find(is.facts.id);
    if (found == places.end()) {
      ++result.only_after;
      if (common || !old_paths.contains(is.facts.path)) continue;
      if (const auto stranger = swept_stranger(is, old_operators)) {
        ++appeared[*stranger];
      } else {
        add(Transition::new_case, is.facts.id, {}, i, said(is, true));
      }
      continue;
    }
    const Verdict& was = before.verdicts[found->second];
    met.insert(found->second);
    if (!same_program(was, is)) {
      add(Transition::case_changed, is.facts.id, found->second, i,
          said(was, false) + " → " + said(is, true));
    } else if (const auto transition = transition_of(was, is)) {
      add(*transition, is.facts.id, found->second, i,
          said(was, *transition == Transition::changed) + " → " + said(is, true));
    } else {
      ++result.unchanged;
    }
  }
  for (std::size_t i = 0; i < before.verdicts.size(); ++i) {
    const Verdict& was = before.verdicts[i];
    if (met.contains(i)) continue;
    ++result.only_before;
    if (common || !new_paths.contains(was.facts.path)) continue;
    if (const auto stranger = swept_stranger(was, new_operators)) {
      ++removed[*stranger];
    } else {
      add(Transition::gone, was.facts.id, i, {}, "it was " + said(was, false));
    }
  }
  for (const auto& [name, count] : removed)
    add(Transition::operator_removed, name, {}, {}, fmt::format("{} verdicts of sweeps", count));
  for (const auto& [name, count] : appeared)
    add(Transition::operator_appeared, name, {}, {}, fmt::format("{} verdicts of sweeps", count));
  std::stable_sort(result.changes.begin(), result.changes.end(),
                   [](const Change& a, const Change& b) { return a.transition < b.transition; });
  return result;
}

EagerComparison compare_eager(const RunRecord& before, const RunRecord& after) {
  // Of the paths of an instance, the first whose verdict says what eager did.
  const auto said = [](const RunRecord& record) {
    std::unordered_map<std::string_view, const Verdict*> verdicts;
    for (const Verdict& verdict : record.verdicts) {
      const Verdict*& of = verdicts[verdict.facts.instance];
      if (of == nullptr || what_eager_did(*of).empty()) of = &verdict;
    }
    return verdicts;
  };
  const auto old = said(before), now = said(after);
  EagerComparison result;
  std::set<std::string_view> met;
  for (const Verdict& verdict : after.verdicts) {
    const auto found = old.find(verdict.facts.instance);
    if (found == old.end() || !met.insert(verdict.facts.instance).second) continue;
    const Verdict &was = *found->second, &is = *now.at(verdict.facts.instance);
    if (!same_program(was, is)) continue;
    const std::string did = what_eager_did(was), does = what_eager_did(is);
    if (did.empty() || does.empty()) {
      ++result.unknown;
    } else if (did == does && was.found.eager_digest == is.found.eager_digest) {
      ++result.same;
    } else {
      result.changes.push_back(
          {verdict.facts.instance, did == does ? "other bits" : did + " → " + does});
    }
  }
  return result;
}

std::string unfit_to_compare(const RunRecord& record) {
  if (record.info.shard)
    return fmt::format("it is shard {}/{} of a run, which `merge` puts together",
                       record.info.shard->number, record.info.shard->of);
  if (!record.end) return "its log has no end: the run was killed, or is not over";
  if (record.end->interrupted) return "it was interrupted";
  if (!record.complete())
    return fmt::format("it has {} of {} verdicts", record.verdicts.size(), record.info.planned);
  std::vector<std::string_view> ids;
  for (const Verdict& verdict : record.verdicts) ids.push_back(verdict.facts.id);
  if (digest_of(ids) != record.info.plan)
    return "its verdicts are not those that it planned: the log was changed";
  return {};
}

}  // namespace lockstep
