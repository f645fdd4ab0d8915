#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "verdict/differences.h"
#include "verdict/expectation_ref.h"
#include "verdict/kinds.h"
#include "verdict/status.h"
#include "wire/observation.h"
#include "wire/witness.h"

namespace lockstep {

/// What the expectations make of a verdict.
enum class Standing { new_, known, fixed, waived };

/// Everything that depends on a standing alone.  The table in verdict.cpp is its only home.
struct StandingInfo {
  Standing standing;
  std::string_view name;
  std::optional<bool> fails;         ///< whether it fails a run; empty: as its status does
  std::optional<bool> fails_strict;  ///< the same with --strict
  std::string_view meaning;          ///< one line for people
};

/// All standings in the order of the enumeration.
std::span<const StandingInfo> all_standings();

std::string_view name_of(Standing standing);
std::optional<Standing> find_standing(std::string_view name);

/// What the plan knows of a verdict before its execution.  Written by `plan/`
/// (plan/case_facts.h).
struct CaseFacts {
  std::string id;  ///< instance/path
  std::string instance;
  std::string path;
  std::string device;
  /// Where eager was executed that it is compared with, as far as that is not the device, the
  /// machine's CPU level and the threads of the run: "on cpu, with 4 threads" (paths/site.h).
  std::string reference;
  std::string title;      ///< of the case
  std::string case_file;  ///< relative to the suite
  int case_line = 1;
  bool own = false;       ///< whether the case is the user's, not the suite's
  std::size_t index = 0;  ///< place in the plan
  int threads = 0;        ///< intra-op threads that case or path ask for; 0: those of the run
  std::vector<std::string> links;                    ///< of the case
  std::string unverified;                            ///< why nobody has seen it do what it says
  std::string program;                               ///< the case as a person reads it
  std::vector<std::string> tags, operators, dtypes;  ///< of the case; dtypes of its inputs

  bool operator==(const CaseFacts&) const = default;
};

/// What became of the relations of a kind (cases/relations.h) of one output.
struct RelationFinding {
  RelationKind kind = RelationKind::batch;
  std::string output;
  int asked = 0;           ///< how many there were
  int eager = 0;           ///< how many of these eager breaks
  int path = 0;            ///< and how many the path does
  bool undecided = false;  ///< one is broken, and no gold says whether the program keeps it
  std::string first;       ///< one that is broken, the path's first if there is one; empty: none

  bool operator==(const RelationFinding&) const = default;
};

/// How errors grow in an output of a case that hands values from call to call.
struct Growth {
  std::string output;
  /// The greatest |compiled - eager| of each call: running free, and each from eager's state.
  std::vector<double> free, restarted;

  bool operator==(const Growth&) const = default;
};

/// What the two sides warned of, in a call for which nothing is compiled any more.  No status hangs
/// on it.
struct Warnings {
  std::size_t same = 0;           ///< of how many both warned
  std::vector<std::string> lost;  ///< of what eager warned, and the compiled program did not
  std::vector<std::string> added;

  bool operator==(const Warnings&) const = default;
};

/// What the judge found, and how.  Written by `judge/`; the files of saved tensors are noted in
/// the outputs by `run/`.
struct Findings {
  Status status = Status::conform;
  std::optional<Grade> grade;  ///< the worst of the outputs; empty when nothing was compared
  std::string reason;          ///< one line; for `conform` empty or a remark
  std::optional<UnsupportedBy> unsupported_by;  ///< of `unsupported`
  std::optional<Nearer> nearer;                 ///< to the gold, where it was asked
  std::vector<OutputComparison> outputs;
  /// Everything that the judge found wrong, in the order in which it counts: the first has the
  /// verdict's status.  Empty where nothing was judged.
  std::vector<Difference> differences;
  /// What was asked of both sides without the other (judge/relations.h).
  std::vector<RelationFinding> relations;
  std::optional<Warnings> warnings;  ///< empty: neither side warned, or nobody listened
  std::vector<Growth> growth;        ///< where values are handed from call to call, and any differs
  bool unstable = false;             ///< the compiled callable disagrees with itself
  /// How often each status was found, where it was executed several times; empty: once.
  std::map<Status, int> executions;
  bool vacuous = false;  ///< nothing to compile or to execute, or every output vacuous
  /// Of `conform`: why it says little although something was compared; empty: it does not.
  std::string weak;
  /// The error is Dynamo's, as torch has it, and no backend's: it was raised for one that compiles
  /// nothing, too.
  bool front_end = false;
  bool never_asked = false;   ///< the path's backend was given nothing to compile
  bool inputs_known = false;  ///< the values of inputs were known when it was compiled
  /// On how many draws of inputs that nobody had seen it was executed, too; it has to conform on
  /// one of three.
  int draws = 0;
  /// How it is known who executed; nothing: nobody looked. `proof` has the operators: `executed`,
  /// and `foreign`, which ran outside the path's own code.
  std::optional<Witness> execution;
  /// Why nobody can see all that executed, which the path does not say itself: then it is not
  /// judged, as far as shares are demanded.  Empty: it does, or somebody can.
  std::string unsaid;
  /// Fraction of operator calls that ran outside the backend, 0 … 1.
  double foreign_fraction = 0;
  /// How much of it operators executed that the path may call (`may_call`), 0 … 1.
  double permitted_fraction = 0;
  bool through_aot = false;  ///< AOT autograd was seen at work
  /// What eager returned and left behind (judge/results_digest.h); empty where it returned nothing
  /// or disagrees with itself.
  std::string eager_digest;
  std::optional<RaisedError> eager_error;
  std::optional<RaisedError> compiled_error;
  std::string stage;             ///< the last stage that the path reached
  nlohmann::ordered_json proof;  ///< evidence of compilation, as the worker gave it

  bool operator==(const Findings&) const = default;
};

/// Whether operators that the path may call executed more than half of it: then it is not judged.
inline bool is_mostly_permitted(const Findings& found) { return found.permitted_fraction > 0.5; }

/// Whether it was judged what the path executed: not where nobody can see that and it does not say
/// so, nor where operators that it may call did more than half of it.
inline bool is_judged(const Findings& found) {
  return info(found.status).judged() && found.unsaid.empty() && !is_mostly_permitted(found);
}

/// Whether it conforms and says nothing of the path's backend, which was given nothing to compile:
/// both sides raise, and that came first.
inline bool conforms_unasked(const Findings& found) {
  return found.status == Status::conform && found.never_asked && found.compiled_error.has_value();
}

/// How a verdict came about.  Written by `run/`.
struct Provenance {
  /// It was compiled in one graph with so many others, and conforms; 0: alone.
  std::size_t shared = 0;
  std::map<std::string, double> phases;  ///< seconds by stage, of the path
  /// When the run began that made it, where this one took it from there (`run --reuse`); empty:
  /// this one did.  Whoever certifies refuses such a verdict.
  std::string reused;
  double seconds = 0;  ///< wall clock of the path's execution, judged
  std::int64_t peak_memory_bytes = 0;
  std::string stderr_tail;
  std::string repro;  ///< the command that repeats it
  /// What eager executed of it (Observation::uses): what the verdict covers, where it was judged.
  std::vector<std::string> uses;

  bool operator==(const Provenance&) const = default;
};

/// What accounts for a verdict.  Written by `expectations/`, and `explained` by `explain/`.
struct Account {
  Standing standing = Standing::new_;
  std::optional<ExpectationRef> expectation;
  /// What `explain` has found of it (record/explanation.h); null: nobody asked.  The log has it in
  /// a record of its own.
  nlohmann::ordered_json explained;

  bool operator==(const Account&) const = default;
};

/// The judgement of one instance on one path.
struct Verdict {
  CaseFacts facts;
  Findings found;
  Provenance origin;
  Account account;

  /// Whether it fails a run.
  bool fails(bool strict) const;

  bool operator==(const Verdict&) const = default;
};

/// The parts in one object.  Keys are the members' names (`class` for class_name); a member that
/// has its initial value is left out.  A standing `new_` is written as "new".
nlohmann::ordered_json to_json(const Verdict& verdict);
/// The exact inverse.  Unknown keys are ignored; a key of another type is an error with its JSON
/// pointer.
Result<Verdict> verdict_from_json(const nlohmann::ordered_json& json);

}  // namespace lockstep
