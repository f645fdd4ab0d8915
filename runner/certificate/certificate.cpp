#include "certificate/certificate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/gzip.h"
#include "base/text.h"
#include "certificate/archive.h"
#include "record/log.h"

namespace lockstep {
namespace {

constexpr std::string_view kRun = "run.jsonl.gz", kDeclared = "declared.jsonl.gz";
constexpr std::string_view kLevel = "level.json", kPath = "path.json";
constexpr std::string_view kRules = "certification.json";
constexpr std::string_view kStatement = "statement.json", kStatementText = "statement.txt";
constexpr std::string_view kWaivers = "waivers/", kTensors = "tensors/";

/// A log is larger than what it is compressed to by no more than this: those of Lockstep are by 10
/// to 40 times.
constexpr Unpacked kLog = {kLogLimits.bytes, 200};
/// Rules of the waivers in an archive: each is asked of each verdict.
constexpr std::size_t kMostWaivers = 1000;

constexpr const char* kNoCertificate = "it proves nothing; ask for another one";

std::vector<Error> errors_of(const std::vector<std::string>& faults) {
  std::vector<Error> errors;
  for (const std::string& fault : faults) errors.push_back({fault, ""});
  return errors;
}

ArchiveFiles files_of(const Submission& submission) {
  const Json statement = statement_of(submission, assess(submission));
  ArchiveFiles files;
  const auto add = [&](std::string_view name, std::string bytes) {
    files[std::string(name)] = std::move(bytes);
  };
  add(kRun, gzip(log_text(submission.run)));
  if (submission.declared) add(kDeclared, gzip(log_text(*submission.declared)));
  add(kLevel, submission.level_file.text);
  add(kPath, submission.path_file.text);
  add(kRules, submission.rules_file.text);
  for (std::size_t i = 0; i < submission.waiver_files.size(); ++i)
    add(fmt::format("{}{}.json", kWaivers, i), submission.waiver_files[i].text);
  for (const auto& [name, bytes] : submission.tensors) add(name, bytes);
  add(kStatement, statement.dump(1) + "\n");
  add(kStatementText, statement_text(statement));
  return files;
}

/// Reads the files of an archive back; what is wrong is added to `errors`.
class Opening {
 public:
  Opening(ArchiveFiles files, std::vector<Error>& errors)
      : files_(std::move(files)), errors_(errors) {}

  std::string take(std::string_view name) {
    const auto found = files_.find(std::string(name));
    if (found == files_.end()) {
      errors_.push_back({fmt::format("{} is missing", name), kNoCertificate});
      return {};
    }
    std::string bytes = std::move(found->second);
    files_.erase(found);
    return bytes;
  }

  bool has(std::string_view name) const { return files_.contains(std::string(name)); }

  JsonFile json(std::string_view name) {
    JsonFile file{std::string(name), take(name), {}};
    Diagnostics diagnostics;
    if (errors_.empty()) parse_json(file, diagnostics);
    say(diagnostics);
    return file;
  }

  /// A log, which must be as Lockstep writes it: nothing is between its lines, and each says what
  /// was read of it and no more.  It is unpacked twice, so that it need not be held.
  RunRecord log(std::string_view name) {
    const std::string packed = take(name);
    if (!errors_.empty()) return {};
    const auto lines = [&] { return LineReader(gunzip_pieces(packed, kLog), kLogLimits.line); };
    const std::string_view unpacked = name.substr(0, name.size() - 3);
    LineReader read = lines();
    auto record = parse_log(read, unpacked);
    if (!record) {
      const std::string& why = record.error().message;
      errors_.push_back(
          {why.starts_with(unpacked) ? why : fmt::format("{}: {}", name, why), kNoCertificate});
      return {};
    }
    LineReader again = lines();
    bool same = read.torn() == 0;
    each_line(*record, [&](std::string_view due) {
      const auto line = again.next();
      return same = same && line && *line == due;
    });
    const auto rest = again.next();
    if (!same || !rest || *rest)
      errors_.push_back({fmt::format("{}: the log is not as Lockstep writes it: its lines are in "
                                     "another order, or one says more",
                                     name),
                         kNoCertificate});
    return std::move(*record);
  }

  /// All whose names begin so.
  ArchiveFiles take_all(std::string_view prefix) {
    ArchiveFiles taken;
    for (auto file = files_.lower_bound(std::string(prefix));
         file != files_.end() && file->first.starts_with(prefix);) {
      taken.insert(std::move(*file));
      file = files_.erase(file);
    }
    return taken;
  }

  void say(const Diagnostics& diagnostics) {
    for (const Diagnostic& each : diagnostics) errors_.push_back({to_string(each), ""});
  }

  void end() {
    for (const auto& [name, bytes] : files_)
      errors_.push_back({fmt::format("found {}, which no certificate has", name), kNoCertificate});
  }

 private:
  ArchiveFiles files_;
  std::vector<Error>& errors_;
};

/// The tensors that a record names of what is waived.
std::set<std::string> tensors_of(const RunRecord& run) {
  std::set<std::string> names;
  for (const Verdict& verdict : run.verdicts) {
    if (verdict.account.standing != Standing::waived) continue;
    for (const OutputComparison& output : verdict.found.outputs)
      names.insert(output.tensors.begin(), output.tensors.end());
  }
  return names;
}

void check_tensors(const Submission& submission, std::vector<Error>& errors) {
  const std::set<std::string> named = tensors_of(submission.run);
  for (const std::string& name : named) {
    if (!submission.tensors.contains(name))
      errors.push_back(
          {fmt::format("{}, which a waived verdict names, is missing", name), kNoCertificate});
  }
  for (const auto& [name, bytes] : submission.tensors) {
    if (!named.contains(name))
      errors.push_back(
          {fmt::format("found {}, which no waived verdict names", name), kNoCertificate});
  }
}

/// Whether the expectations make of every verdict what its standing says.
void check_standings(const Submission& submission, const SuiteAtHand& suite,
                     std::vector<Error>& errors) {
  const RunRecord& run = submission.run;
  const Json machine = run.environment.value("machine", Json::object());
  const Json eager = run.environment.value("eager", Json::object());
  ExpectationConditions conditions = conditions_of(machine, eager, run.info.started.substr(0, 10));
  conditions.cpu_of_paths =
      cpu_conditions_of({&submission.path, 1}, conditions.environment["cpu_features"]);
  std::vector<Expectation> rules = suite.expectations;
  rules.insert(rules.end(), submission.waivers.begin(), submission.waivers.end());
  const Expectations expectations(std::move(rules), std::move(conditions));
  for (const Verdict& verdict : run.verdicts) {
    Account again;
    const std::string instance =
        verdict.facts.instance.substr(0, verdict.facts.instance.rfind('@'));
    expectations.tell(verdict.facts, verdict.found, instance.substr(0, instance.find('[')), again);
    waive_front_end(verdict.found, submission.path, again);
    const auto same = [](const std::optional<ExpectationRef>& a,
                         const std::optional<ExpectationRef>& b) {
      return a.has_value() == b.has_value() &&
             (!a || (a->reason == b->reason && a->link == b->link && a->added == b->added &&
                     a->every_path == b->every_path && a->because == b->because));
    };
    if (again.standing == verdict.account.standing &&
        same(again.expectation, verdict.account.expectation))
      continue;
    errors.push_back(
        {fmt::format("the verdict {} is {}, by the suite's expectations and the "
                     "waivers it is {}",
                     verdict.facts.id, name_of(verdict.account.standing), name_of(again.standing)),
         kNoCertificate});
    if (errors.size() > 20) return;
  }
}

/// Whether it has no more than can be checked in a time that is worth it.
void check_size(const Submission& submission, std::vector<Error>& errors) {
  const std::size_t verdicts = submission.run.verdicts.size();
  if (const std::size_t most = submission.level.instances.size(); verdicts > most)
    errors.push_back({fmt::format("found {} verdicts, of which the level has {}", grouped(verdicts),
                                  grouped(most)),
                      kNoCertificate});
  if (submission.waivers.size() > kMostWaivers)
    errors.push_back({fmt::format("found {} waivers, at most {} are read",
                                  grouped(submission.waivers.size()), grouped(kMostWaivers)),
                      kNoCertificate});
}

void check_suite(const Submission& submission, const SuiteAtHand& suite,
                 std::vector<Error>& errors) {
  const std::string level = suite.level(submission.level_name);
  if (level.empty()) {
    errors.push_back({fmt::format("this suite has no level `{}`", submission.level_name),
                      "verify it with the suite that has the level: --suite DIR"});
  } else if (level != submission.level_file.text) {
    errors.push_back(
        {fmt::format("the level `{}` of this suite has other cases", submission.level_name),
         "a frozen level never changes"});
  }
  if (suite.rules != submission.rules_file.text)
    errors.push_back({"this suite has other rules (certification.json)",
                      fmt::format("Lockstep {} made it: verify it with that release",
                                  submission.run.info.version)});
  const auto judged_here = [&](const RunRecord& run) {
    const auto judge = run.info.digests.find("judge");
    return judge != run.info.digests.end() && judge->second == suite.judge;
  };
  if (!judged_here(submission.run) || (submission.declared && !judged_here(*submission.declared)))
    errors.push_back({"another version of the judge made these verdicts",
                      fmt::format("Lockstep {} made it: verify it with that release",
                                  submission.run.info.version)});
}

}  // namespace

void note_meant(Submission& submission, const std::string& device, const SuiteAtHand& suite) {
  for (const auto& [instance, digest] : submission.level.instances) {
    if (!suite.is_meant(instance, device, submission.path.name))
      submission.not_meant.insert(instance);
  }
}

tl::expected<std::string, std::vector<Error>> make_certificate(const Submission& submission) {
  const Assessment assessment = assess(submission);
  std::vector<Error> errors = errors_of(assessment.faults);
  check_tensors(submission, errors);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  auto archive = write_archive(files_of(submission));
  if (!archive) return tl::unexpected(std::vector{archive.error()});
  return std::move(*archive);
}

tl::expected<Submission, std::vector<Error>> check_certificate(std::string_view archive,
                                                               const SuiteAtHand& suite) {
  return check_certificate(pieces_of(archive), suite);
}

tl::expected<Submission, std::vector<Error>> check_certificate(const Pieces& archive,
                                                               const SuiteAtHand& suite) {
  std::vector<Error> errors;
  auto files = read_archive(archive);
  if (!files) return tl::unexpected(std::vector{files.error()});
  Opening opening(std::move(*files), errors);
  Submission submission;
  const std::string statement = opening.take(kStatement), text = opening.take(kStatementText);
  submission.level_file = opening.json(kLevel);
  submission.path_file = opening.json(kPath);
  submission.rules_file = opening.json(kRules);
  for (std::size_t i = 0; opening.has(fmt::format("{}{}.json", kWaivers, i)); ++i)
    submission.waiver_files.push_back(opening.json(fmt::format("{}{}.json", kWaivers, i)));
  submission.tensors = opening.take_all(kTensors);
  if (opening.has(kDeclared)) submission.declared = opening.log(kDeclared);
  submission.run = opening.log(kRun);
  opening.end();
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  submission.level_name = submission.run.info.level;
  Diagnostics diagnostics;
  ValidNames names = suite.names;
  const Json& path = submission.path_file.root;
  if (path.is_object() && path.contains("name") && path["name"].is_string() && !names.paths.empty())
    names.paths.push_back(path["name"]);
  decode_files(submission, names, diagnostics);
  opening.say(diagnostics);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  check_size(submission, errors);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  if (!submission.run.info.devices.empty())
    note_meant(submission, submission.run.info.devices.front(), suite);
  check_suite(submission, suite, errors);
  check_standings(submission, suite, errors);
  const Assessment assessment = assess(submission);
  for (Error& error : errors_of(assessment.faults)) errors.push_back(std::move(error));
  check_tensors(submission, errors);
  if (!errors.empty()) return tl::unexpected(std::move(errors));
  const Json due = statement_of(submission, assessment);
  if (statement != due.dump(1) + "\n" || text != statement_text(due))
    return tl::unexpected(
        std::vector{Error{"the statement is not what the log says", kNoCertificate}});
  return submission;
}

}  // namespace lockstep
