#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "expectations/conditions.h"
#include "paths/path.h"
#include "plan/names.h"
#include "verdict/verdict.h"

namespace lockstep {

/// The only format of files of expectations that is read and written.
inline constexpr int kExpectationsFormat = 2;

/// A dated, linked, conditional statement that a verdict is known.
struct Expectation {
  std::string where;                   ///< "expected/known/inductor.json:12"
  std::vector<std::string> instances;  ///< globs over instance and case ids; empty: all
  /// Globs over the fingerprints (verdict/fingerprint.h) that are known; empty: the verdict as a
  /// whole is, by its status.
  std::vector<std::string> fingerprints;
  std::vector<std::string> paths;       ///< globs
  std::vector<std::string> devices;     ///< globs; empty: all
  std::string torch;                    ///< range; empty: all
  std::vector<std::string> cpu_levels;  ///< "avx2", "avx512", ...; empty: all
  /// What the CPU must have ("avx512_fp16") and must not have ("!avx512_fp16"), all of them.
  std::vector<std::string> cpu_features;
  /// What the machine and eager's torch must say of themselves in the log, globs by name:
  /// {"cuda:0": "*H100*"}; all of them.
  std::map<std::string, std::string> environment;
  /// It holds only if AOT autograd was seen at work, on any path.
  bool through_aot = false;
  /// A flake: it holds only if executions disagree, and is not `fixed` if they agree.
  bool flake = false;
  Status status = Status::value_diverges;  ///< where there are no fingerprints
  std::optional<Grade> grade;              ///< the worst grade that is still as expected
  bool waived =
      false;  ///< agreed with the suite's owners for this device: `waived` instead of `known`
  Because because = Because::bug;
  std::string reason;
  std::string finding;  ///< for people: what was measured
  std::string link;
  /// Of an unreported divergence: the id of its best example, and the public reports that were
  /// searched.
  std::string example, searched;
  std::string date;     ///< "2026-11-21"
  std::string expires;  ///< the last day on which it holds; empty: for ever
  bool added = false;   ///< of a file of the user's (--known), not of the suite
};

/// Whether a rule names an instance, by its id with the device or without, or its case.
bool names(const Expectation& rule, std::string_view instance, std::string_view case_id);

/// What a run covers completely. A rule is stale only if the run covered everything that it could
/// match.
struct ExpectationScope {
  struct Instance {
    std::string case_id, id;
    bool ran = false;
  };
  bool whole_suite = false;         ///< every case there is
  std::vector<Instance> instances;  ///< all of the suite
  std::vector<std::string> paths;   ///< those whose items the run took completely
  std::vector<std::string> devices;
};

/// The expectations of one file; what is wrong is added to `diagnostics`, also a path, a device or
/// a CPU level that does not exist: the rule would match nothing.
std::vector<Expectation> decode_expectations(const JsonFile& file, const ValidNames& names,
                                             Diagnostics& diagnostics);

/// Those of `root/expected/known/*.json`, and behind them those of `added`, which are marked so.
std::vector<Expectation> read_expectations(const std::filesystem::path& root,
                                           const std::vector<std::filesystem::path>& added,
                                           const ValidNames& names, Diagnostics& diagnostics);

/// Gives verdicts their standing, and remembers which expectations matched.
class Expectations {
 public:
  Expectations(std::vector<Expectation> rules, ExpectationConditions conditions);

  /// `known` or `waived` when rules that apply expect all that happened: one its status, or several
  /// its fingerprints together, so that another finding beside a known one is new. `fixed` if a
  /// rule applies, the status does not fail, and no rule expects the status. Rules about
  /// fingerprints apply to divergences only; so does a rule for a path when the verdict is of a
  /// variant. Else `new`.
  /// Of the account, `explained` stays.
  void apply(const CaseFacts& facts, const Findings& found, const std::string& case_id,
             Account& account);
  /// The same of a verdict that is not the last word: nothing is remembered.
  void tell(const CaseFacts& facts, const Findings& found, const std::string& case_id,
            Account& account) const;

  /// Whether a rule expects of a verdict that it fails as a whole, or that it ends with an error.
  bool expects_failure(const CaseFacts& facts, const std::string& case_id) const;

  /// Stale rules: active here, covered by this run, matched nothing.  Expired rules as well: those
  /// that would have matched a verdict, or that this run covers, and whether what they expected
  /// still happens.
  std::vector<UnmatchedExpectation> unmatched(const ExpectationScope& scope) const;

 private:
  /// Which rules matched something.
  struct Met {
    std::vector<bool> seen, happened;
  };
  /// What the rules say of a verdict.
  struct Meeting {
    /// Of each fingerprint the first rule that expects it; null: none does.
    std::vector<const Expectation*> known;
    const Expectation* whole = nullptr;  ///< the first about the whole verdict
  };
  Meeting meet(const CaseFacts& facts, const Findings& found, const std::string& case_id,
               Met& met) const;
  static void give_standing(const Meeting& meeting, Status status, Account& account);
  bool holds_here(const Expectation& rule, const std::string& path = "") const;
  bool is_about(const Expectation& rule, const CaseFacts& facts, const std::string& case_id) const;
  bool is_over(const Expectation& rule) const;
  std::vector<Expectation> rules_;
  Met met_;  ///< happened: also after its last day
  ExpectationConditions conditions_;
};

/// On a path whose backend is not torch's, an error of torch's front end is judged and kept, but it
/// is nothing that the backend did: it does not fail the run, unless somebody expected otherwise.
/// To be asked behind Expectations.
void waive_front_end(const Findings& found, const Path& path, Account& account);

}  // namespace lockstep
