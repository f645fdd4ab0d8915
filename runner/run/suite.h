#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cases/suite.h"
#include "expectations/expectations.h"
#include "paths/path.h"
#include "plan/names.h"
#include "run/session_settings.h"

namespace lockstep {

/// The cases and what belongs to them.
struct Suite {
  std::vector<CaseFile> cases;  ///< the suite's, and the user's own
  /// The ids of each of SessionSettings::case_files, also of those that are the suite's anyway.
  std::map<std::filesystem::path, std::vector<std::string>> own;
  std::vector<Path> paths;
  ValidNames names;  ///< of paths and devices
  std::vector<Expectation> expectations;
};

/// Reads the files: cases, sweeps not expanded, paths and expectations, each checked by itself and
/// for names of paths and devices that there are.  What is wrong is added to `diagnostics`; an
/// error where there is no suite.
Result<Suite> read_suite(const SessionSettings& settings, Diagnostics& diagnostics);

/// The digests of RunInfo: of everything that decides a run's verdicts. These are the suite's
/// files, files that the settings name, and the judge (record/judge_digest.h).
std::map<std::string, std::string> digests_of_suite(const SessionSettings& settings);

}  // namespace lockstep
