#pragma once

#include <string>
#include <vector>

#include "certificate/certificate.h"
#include "commands/options.h"
#include "run/session.h"

namespace lockstep {

/// The suite's rules for certificates, and its frozen levels.
inline constexpr const char* kRulesFile = "expected/certification.json";

/// The file of a level, relative to the suite.
std::string level_file_of(const std::string& level);

/// What the suite of a session has that certificates are checked against.
SuiteAtHand suite_at_hand(const Options& options, const Session& session);

/// The command line of a run, with what the options of `certify` and `verify` say of how and with
/// which files instances are executed.
std::vector<std::string> run_arguments(const Options& options);

/// Prints what a certificate says, and writes the page and the badge that the command line asks
/// for; `file` is the archive's, `bytes` what it holds.
Result<void> show_certificate(const Options& options, const Json& statement,
                              const std::filesystem::path& file, std::string_view bytes);

/// Executes a run with these arguments; what fails in it is no error.  The result is its record, or
/// the exit status to end with.
tl::expected<RunRecord, Exit> run_with(const std::vector<std::string>& arguments,
                                       const std::filesystem::path& directory);

}  // namespace lockstep
