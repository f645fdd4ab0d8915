#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/lines.h"
#include "certificate/submission.h"

namespace lockstep {

/// What a suite has that a certificate is made by and checked against.
struct SuiteAtHand {
  /// The text of a level's file by its name; empty: the suite has no such level.
  std::function<std::string(const std::string& name)> level;
  /// Whether the case of an instance is meant for a device and a path (`only` in its file).
  std::function<bool(const std::string& instance, const std::string& device,
                     const std::string& path)>
      is_meant;
  std::string rules;                      ///< text of its rules
  std::string judge;                      ///< digest of the judge (record/judge_digest.h)
  std::vector<Expectation> expectations;  ///< of the suite alone
  ValidNames names;
};

/// Notes in a submission what the suite means neither for its path nor for the device.
void note_meant(Submission& submission, const std::string& device, const SuiteAtHand& suite);

/// The archive of a submission that is a certificate: `run.jsonl.gz`, `declared.jsonl.gz`,
/// `level.json`, `path.json`, `certification.json`, `waivers/`, `tensors/`, `statement.json`,
/// `statement.txt` and the manifest.  Equal submissions give equal bytes.  Errors: why it is none.
tl::expected<std::string, std::vector<Error>> make_certificate(const Submission& submission);

/// Checks an archive, and gives what it holds.  Errors, where
/// - the container is not what write_archive writes, to the byte (archive.h);
/// - a file is missing, is not known, or is not as Lockstep writes it: the logs and the statements
///   are made again from what was read of them;
/// - a verdict contradicts its numbers (verdict/contradiction.h), or its standing is another one by
///   the suite's expectations and the waivers;
/// - the level or the rules are others than those of the suite, or another judge has judged;
/// - it is no certificate (assess).
tl::expected<Submission, std::vector<Error>> check_certificate(const Pieces& archive,
                                                               const SuiteAtHand& suite);
tl::expected<Submission, std::vector<Error>> check_certificate(std::string_view archive,
                                                               const SuiteAtHand& suite);

}  // namespace lockstep
