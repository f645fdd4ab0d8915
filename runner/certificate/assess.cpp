#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/digest.h"
#include "base/dtype.h"
#include "base/text.h"
#include "certificate/submission.h"
#include "paths/needs.h"
#include "plan/plan.h"
#include "record/draw.h"
#include "record/judged.h"
#include "record/machine.h"
#include "reports/families.h"

namespace lockstep {
namespace {

/// No more faults of a kind than these are told one by one.
constexpr std::size_t kMostFaults = 10;

/// Adds faults of one kind; of many the first ones, and how many more.
class Faults {
 public:
  Faults(std::vector<std::string>& faults, std::string kind)
      : faults_(faults), kind_(std::move(kind)) {}
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;
  ~Faults() {
    if (count_ > kMostFaults)
      faults_.push_back(fmt::format("{}: {} more", kind_, count_ - kMostFaults));
  }
  void add(const std::string& what) {
    if (++count_ <= kMostFaults) faults_.push_back(fmt::format("{}: {}", kind_, what));
  }

 private:
  std::vector<std::string>& faults_;
  std::string kind_;
  std::size_t count_ = 0;
};

/// Whether it was executed at all, and so as often as the rules demand.
bool is_executed(const Verdict& verdict) { return verdict.found.status != Status::unsupported; }

void check_run(const RunRecord& run, const Submission& submission, const std::string& which,
               std::vector<std::string>& faults) {
  const auto fault = [&](const std::string& what) { faults.push_back(which + ": " + what); };
  if (!run.complete()) fault("it did not come to its end");
  if (run.info.shard || run.info.merged > 0) fault("it is put together of shards");
  if (run.info.level != submission.level_name)
    fault(fmt::format("it took the level `{}`", run.info.level));
  if (run.info.devices.size() != 1 || run.info.paths.size() != 1) {
    fault("it took several devices or paths, or none");
  } else {
    const PathInfo& path = run.info.paths.front();
    const Path& declared = submission.path;
    if (path.name != declared.name || path.declared != declared.declared ||
        path.title != declared.title || path.contract != name_of(declared.contract) ||
        path.digest != Digest().add(declared.declared.dump()).hex())
      fault(fmt::format("the path {} was another one than the file says", path.name));
    Faults unlike(faults, which + ": says another instance, path or device than its id");
    for (const Verdict& verdict : run.verdicts) {
      if (verdict.facts.id != verdict.facts.instance + "/" + verdict.facts.path ||
          verdict.facts.path != declared.name || verdict.facts.device != run.info.devices.front() ||
          !verdict.facts.instance.ends_with("@" + verdict.facts.device))
        unlike.add(verdict.facts.id);
    }
  }
  if (run.info.digests.contains("libraries") && run.info.digests.at("libraries").empty())
    fault("a library is not known by its digest");
  std::vector<std::string_view> ids;
  bool in_order = true;
  for (const Verdict& verdict : run.verdicts) {
    in_order = in_order && verdict.facts.index == ids.size();
    ids.push_back(verdict.facts.id);
  }
  if (!in_order || digest_of(ids) != run.info.plan)
    fault("its verdicts are not in the order of its plan");
  Faults reused(faults, which + ": taken from an earlier run");
  for (const Verdict& verdict : run.verdicts) {
    if (!verdict.origin.reused.empty()) reused.add(verdict.facts.id);
  }
}

void check_completeness(const Submission& submission, std::vector<std::string>& faults) {
  const RunRecord& run = submission.run;
  if (run.info.devices.empty()) return;
  const std::string suffix = "@" + run.info.devices.front() + "/" + submission.path.name;
  std::set<std::string> wanted;
  for (const auto& [instance, digest] : submission.level.instances) {
    if (!submission.not_meant.contains(instance)) wanted.insert(instance + suffix);
  }
  Faults missing(faults, "missing"), twice(faults, "twice"), other(faults, "not of the level");
  std::set<std::string> seen;
  for (const Verdict& verdict : run.verdicts) {
    if (!wanted.contains(verdict.facts.id)) other.add(verdict.facts.id);
    if (!seen.insert(verdict.facts.id).second) twice.add(verdict.facts.id);
  }
  for (const std::string& id : wanted) {
    if (!seen.contains(id)) missing.add(id);
  }
}

/// Whether the random part that has to be executed several times was, and nothing else decided
/// which that is.
void check_repetition(const Submission& submission, Assessment& assessment) {
  const CertificationRules& rules = submission.rules;
  const std::optional<RepeatedPart>& part = submission.run.info.repeated_part;
  if (!part || part->times < rules.times || part->percent < rules.percent) {
    assessment.faults.push_back(
        fmt::format("no {} executions of {} % of the verdicts", rules.times, rules.percent));
    return;
  }
  if (part->seed != seed_by_packages(repeated_by(submission.path_file, submission.level_file),
                                     submission.run.environment))
    assessment.faults.push_back(
        "which part is executed several times was chosen, and does not follow from path, level and "
        "packages");
  Faults once(assessment.faults, fmt::format("not executed {} times", part->times));
  for (const Verdict& verdict : submission.run.verdicts) {
    if (!is_executed(verdict) || !is_drawn(part->seed, part->percent, verdict.facts.id)) continue;
    int times = 0;
    for (const auto& [status, count] : verdict.found.executions) times += count;
    ++assessment.repeated;
    if (times != part->times) once.add(verdict.facts.id);
  }
}

/// Whether it was judged what the path itself executed, as far as anybody can see: of a path that
/// is not torch's own somebody must have looked, and operators that it may call are others'.
bool is_executed_by_path(const Path& path, const Verdict& verdict) {
  const Findings& found = verdict.found;
  if (!is_judged(found) || found.front_end) return false;
  // Only torch's own backends may leave execution to its operators.
  const bool is_torchs = path.declared.value("executes", Json()) == "aten";
  if (found.status != Status::conform || found.vacuous || !path.compiles || is_torchs) return true;
  // Of a program that raises nobody says who executed it.
  return found.execution.has_value() || found.compiled_error.has_value();
}

void check_shares(const Submission& submission, Assessment& assessment) {
  const Floor* floor = submission.rules.floor_of(submission.level_name);
  if (floor == nullptr) {
    assessment.faults.push_back("the suite's rules have no floor for this level");
    return;
  }
  assessment.all = {"all", 0, 0, floor->all};
  std::map<std::string, ClassConformance> classes;
  for (const Verdict& verdict : submission.run.verdicts) {
    const Merit merit = merit_of(verdict);
    // What torch's front end raises is nobody's fault, and nothing that the path has executed.
    const bool could = merit != Merit::unsupported && !conforms_unasked(verdict.found) &&
                       (merit != Merit::upstream || verdict.found.front_end);
    if (!could) continue;
    const std::string name(family_of(verdict));
    ClassConformance& part = classes[name];
    part.name = name;
    const auto own = floor->classes.find(name);
    part.floor = own == floor->classes.end() ? floor->each : own->second;
    for (ClassConformance* each : {&part, &assessment.all}) {
      ++each->could;
      each->judged += merit != Merit::declared && is_executed_by_path(submission.path, verdict);
    }
  }
  const auto check = [&](const ClassConformance& part) {
    const double percent =
        part.could == 0 ? 100
                        : 100 * static_cast<double>(part.judged) / static_cast<double>(part.could);
    if (percent < part.floor)
      assessment.faults.push_back(
          fmt::format("too little was judged of {}: {} of {} ({}), the floor is {} %",
                      part.name == "all" ? "the level" : part.name, part.judged, part.could,
                      rate_text(part.judged, part.could), part.floor));
  };
  check(assessment.all);
  for (const auto& [name, part] : classes) {
    check(part);
    assessment.classes.push_back(part);
  }
}

/// The first bound that is about an operator and a dtype; null: none is.
const ToleranceBound* bound_of(const CertificationRules& rules, const std::string& op,
                               std::string_view dtype) {
  for (const ToleranceBound& bound : rules.tolerances) {
    if (bound.dtype == dtype && takes_operator(bound.operators, op)) return &bound;
  }
  return nullptr;
}

/// The floating and complex dtypes, for which tolerances exist.
std::vector<std::string> tolerant_dtypes(const ToleranceRule& rule) {
  std::vector<std::string> dtypes;
  for (const Dtype& dtype : all_dtypes()) {
    if ((dtype.is_floating() || dtype.is_complex()) && globs_take(rule.dtypes, dtype.name))
      dtypes.emplace_back(dtype.name);
  }
  return dtypes;
}

void check_tolerances(const Submission& submission, std::vector<std::string>& faults) {
  std::set<std::string> operators;
  for (const Verdict& verdict : submission.run.verdicts)
    operators.insert(verdict.facts.operators.begin(), verdict.facts.operators.end());
  Faults loose(faults, "a tolerance looser than the suite bears");
  for (const ToleranceRule& rule : submission.path.declarations.tolerances) {
    for (const std::string& op : operators) {
      if (!takes_operator(rule.operators, op)) continue;
      for (const std::string& dtype : tolerant_dtypes(rule)) {
        const ToleranceBound* bound = bound_of(submission.rules, op, dtype);
        if (bound == nullptr) {
          loose.add(fmt::format("{} {}: the suite has no bound", op, dtype));
        } else if (rule.rtol > bound->rtol || rule.atol > bound->atol) {
          loose.add(fmt::format("{} {}: rtol {}, atol {}, at most rtol {}, atol {} ({})", op, dtype,
                                rule.rtol, rule.atol, bound->rtol, bound->atol, bound->source));
        }
      }
    }
  }
}

/// The descriptions of workers and machine, without what differs each time.
std::map<std::string, nlohmann::json> lasting(const Json& environment) {
  std::map<std::string, nlohmann::json> facts;
  for (const auto& [worker, values] : environment.items()) {
    for (const auto& [name, value] : values.items()) {
      if (!name.ends_with(kFreeMemory)) facts[worker + "\n" + name] = value;
    }
  }
  return facts;
}

/// What is declared as unsupported must have been executed all the same.
void check_declared(const Submission& submission, Assessment& assessment) {
  std::set<std::string> declared;
  for (const Verdict& verdict : submission.run.verdicts) {
    if (verdict.found.unsupported_by == UnsupportedBy::declaration && verdict.found.stage.empty())
      declared.insert(verdict.facts.id);
  }
  if (!submission.declared) {
    if (!declared.empty())
      assessment.faults.push_back("what the path declares was not executed: it may be supported");
    return;
  }
  const RunRecord& again = *submission.declared;
  check_run(again, submission, "the run of what is declared", assessment.faults);
  if (again.info.version != submission.run.info.version ||
      again.info.devices != submission.run.info.devices ||
      again.info.digests != submission.run.info.digests ||
      lasting(again.environment) != lasting(submission.run.environment))
    assessment.faults.push_back("the run of what is declared: it took place elsewhere");
  Faults missing(assessment.faults, "declared, and not executed all the same");
  for (const Verdict& verdict : submission.declared->verdicts) {
    if (declared.erase(verdict.facts.id) > 0 && verdict.found.status == Status::conform)
      assessment.overdeclared.push_back(verdict.facts.id);
  }
  for (const std::string& id : declared) missing.add(id);
}

}  // namespace

Merit merit_of(const Verdict& verdict) {
  if (verdict.found.status == Status::conform) return Merit::conform;
  const bool met = verdict.account.expectation.has_value();
  if (verdict.account.standing == Standing::waived)
    return verdict.found.front_end && met && verdict.account.expectation->file.empty()
               ? Merit::upstream
               : Merit::waived;
  if (verdict.account.standing == Standing::known && met &&
      verdict.account.expectation->every_path && !verdict.account.expectation->added)
    return Merit::upstream;
  if (verdict.found.status == Status::extension || verdict.found.status == Status::inconclusive)
    return Merit::unsupported;
  if (verdict.found.status != Status::unsupported) return Merit::failing;
  if (verdict.found.unsupported_by == UnsupportedBy::declaration) return Merit::declared;
  return verdict.found.unsupported_by && !info(*verdict.found.unsupported_by).of_path
             ? Merit::unsupported
             : Merit::failing;
}

Assessment assess(const Submission& submission) {
  Assessment assessment;
  check_run(submission.run, submission, "the run", assessment.faults);
  check_completeness(submission, assessment.faults);
  {
    Faults failing(assessment.faults, "fails");
    Faults refused(assessment.faults, "refused, and not declared");
    for (const Verdict& verdict : submission.run.verdicts) {
      const Merit merit = merit_of(verdict);
      ++assessment.counts[merit];
      if (merit == Merit::failing) {
        const bool refuses =
            verdict.found.status == Status::refused || verdict.found.status == Status::unsupported;
        (refuses ? refused : failing)
            .add(fmt::format("{}: {}", verdict.facts.id, info(verdict.found.status).label));
      }
      if (merit != Merit::conform) continue;
      ++(verdict.found.execution == Witness::observed ? assessment.observed
         : verdict.found.execution == Witness::stated ? assessment.stated
                                                      : assessment.unseen);
      assessment.partly += verdict.found.foreign_fraction > 0;
      assessment.permitted += is_mostly_permitted(verdict.found);
      assessment.inputs_known += verdict.found.inputs_known;
      assessment.drawn += verdict.found.draws > 0;
      assessment.unasked += conforms_unasked(verdict.found);
    }
  }
  check_repetition(submission, assessment);
  check_shares(submission, assessment);
  check_tolerances(submission, assessment.faults);
  check_declared(submission, assessment);
  return assessment;
}

}  // namespace lockstep
