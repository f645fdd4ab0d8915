#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "certificate/rules.h"
#include "expectations/expectations.h"
#include "paths/path.h"
#include "plan/level.h"
#include "record/record.h"

namespace lockstep {

/// A run of a frozen level on one path and one device, and all that it was judged by: what is
/// certified.
struct Submission {
  RunRecord run;
  /// What the path declares not to support, executed all the same; nothing where it declares none.
  std::optional<RunRecord> declared;
  std::string level_name;
  JsonFile level_file, path_file, rules_file;
  std::vector<JsonFile> waiver_files;
  std::map<std::string, std::string> tensors;  ///< of what is waived, by name: "tensors/…"

  /// Instances of the level whose cases are not meant for this path, or not for this device.
  std::set<std::string> not_meant;

  Level level;               ///< of level_file
  Path path;                 ///< of path_file
  CertificationRules rules;  ///< of rules_file
  std::vector<Expectation> waivers;
};

/// Decodes the files of a submission. Also refuses a level that is not frozen, and a waiver without
/// `waived`, without a link, or not bound to a device and its driver.
void decode_files(Submission& submission, const ValidNames& names, Diagnostics& diagnostics);

/// The text by which, and by torch and packages (seed_by_packages), a random part of a level is
/// executed several times on a path: nobody's choice.
std::string repeated_by(const JsonFile& path, const JsonFile& level);

/// What a verdict is to a certificate.
enum class Merit {
  conform,      ///< also where it was expected to fail
  waived,       ///< by a waiver
  upstream,     ///< what torch does on every path, known to the suite, or to its front end
  declared,     ///< not supported, as the path file says
  unsupported,  ///< by the torch, the machine or eager
  failing,      ///< all else
};

Merit merit_of(const Verdict& verdict);

/// How much of a class of operators was judged.
struct ClassConformance {
  std::string name;
  std::size_t judged = 0, could = 0;
  double floor = 0;
};

/// What a submission comes to.
struct Assessment {
  /// Why it is no certificate, in the order of the checks; empty: it is one.
  std::vector<std::string> faults;
  std::map<Merit, std::size_t> counts;
  /// How it is known who executed the conforming verdicts.
  std::size_t observed = 0, stated = 0, unseen = 0;
  std::size_t partly = 0;        ///< likewise: only a part ran in the path's own code
  std::size_t permitted = 0;     ///< likewise: operators that it may call executed most of it
  std::size_t inputs_known = 0;  ///< likewise: its inputs were known when it was compiled
  std::size_t drawn = 0;         ///< likewise: also on inputs that nobody had seen
  std::size_t unasked = 0;       ///< likewise: both sides raise before the backend was asked
  std::size_t repeated = 0;      ///< verdicts of several executions
  ClassConformance all;
  std::vector<ClassConformance> classes;  ///< sorted by name
  std::vector<std::string> overdeclared;  ///< ids: declared as unsupported, and conform
};

Assessment assess(const Submission& submission);

/// What a certificate says, as JSON; a function of the submission.
Json statement_of(const Submission& submission, const Assessment& assessment);

/// The same for people, with a final newline.
std::string statement_text(const Json& statement);

}  // namespace lockstep
