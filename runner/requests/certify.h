#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "certificate/certificate.h"
#include "record/record.h"
#include "requests/failure.h"
#include "requests/requests.h"
#include "run/session.h"

namespace lockstep {

/// The suite's rules for certificates, and its frozen levels.
inline constexpr const char* kRulesFile = "expected/certification.json";

/// The file of a level, relative to the suite.
std::string level_file_of(const std::string& level);

/// What the suite of a session has that certificates are checked against; no longer than the
/// session.
SuiteAtHand suite_at_hand(const Session& session);

/// Prepares and executes a run for a request, and calls its listeners.  The session
/// may be one that is open already, or null.  What fails in the run is no failure.
using CarryOut =
    std::function<Answer<RunRecord>(const RunRequest& request, std::unique_ptr<Session> session)>;

/// What became of a certification.
struct Certified {
  Submission submission;
  std::string archive;        ///< empty: it does not conform
  std::vector<Error> errors;  ///< why not
};

/// Runs the level on the path, the declared part of it too, and makes the archive. Continues the
/// run in the request's folder, or takes it if it is complete.
Answer<Certified> certify(const CertifyRequest& request, const CarryOut& carry_out);

/// What an archive holds, or why it is no certificate (`errors`).
struct Verified {
  Submission submission;
  std::vector<Error> errors;
  std::unique_ptr<Session> session;  ///< of the suite
};

/// Checks the archive that comes in pieces against the suite.
Answer<Verified> verify(const VerifyRequest& request, const Pieces& archive);

/// A verdict of an archive, and its status when it was executed again here.
struct Differently {
  std::string id;
  Status then;
  std::optional<Status> here;  ///< empty: it was not executed
};

/// A sample of the verdicts of an archive, executed again here.
struct Sampled {
  std::size_t executed = 0;
  std::string seed;
  std::vector<Differently> others;  ///< whose statuses differ
};
Answer<Sampled> execute_sample(const VerifyRequest& request, Verified verified,
                               const CarryOut& carry_out);

}  // namespace lockstep
