#include "requests/certify.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "cases/decode.h"
#include "cases/expand.h"
#include "certificate/archive.h"
#include "paths/globs.h"
#include "record/draw.h"
#include "record/judge_digest.h"
#include "record/log.h"
#include "record/machine.h"
#include "requests/open.h"
#include "requests/run_directory.h"
#include "requests/settle.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Whether the case of an instance is meant for a device and a path, by `only` in its file.
bool is_meant(const std::vector<CaseFile>& cases, const std::string& instance,
              const std::string& device, const std::string& path) {
  const std::size_t bracket = std::min(instance.find('['), instance.size());
  const auto file = std::find_if(cases.begin(), cases.end(), [&](const CaseFile& each) {
    return each.id == instance.substr(0, bracket);
  });
  if (file == cases.end()) return true;
  // Of a sweep's instances the torch at hand decides; nothing of them is in `only`.
  const auto choice = std::find_if(
      file->choices.begin(), file->choices.end(),
      [&](const MatrixChoice& each) { return each.suffix == instance.substr(bracket); });
  std::vector<std::string> unknown;
  const Json root = choice == file->choices.end()
                        ? file->file.root
                        : substitute(file->file.root, *choice, device, unknown);
  Diagnostics ignored;  // `check` tells them
  Reader reader(file->file, ignored);
  Case header;
  decode_header(reader, Node{&root, ""}, header);
  return devices_take(header.only_devices, device) && paths_take(header.only_paths, path);
}

JsonFile read(const fs::path& file, const std::string& shown, Diagnostics& diagnostics) {
  auto found = read_json(file, shown, diagnostics);
  return found ? std::move(*found) : JsonFile{shown, "", {}};
}

/// The path that a certificate is to be of.
Answer<const Path*> path_of(const CertifyRequest& request, const Suite& suite) {
  const std::string& name = request.basis.choice.paths.front();
  const auto path = std::find_if(suite.paths.begin(), suite.paths.end(),
                                 [&](const Path& each) { return each.name == name; });
  std::vector<std::string> names;
  for (const Path& each : suite.paths) names.push_back(each.name);
  if (path == suite.paths.end())
    return refuse(Exit::usage, {fmt::format("there is no path `{}`", one_line(name, 100)),
                                suggestion(name, names)});
  if (path->base.empty()) return &*path;
  return refuse(Exit::usage, {fmt::format("{} is a variant of {}", path->name, path->base),
                              "a certificate is of a path as its file declares it"});
}

/// The files that a submission rests on, decoded.
Answer<Submission> begin_submission(const CertifyRequest& request, const Suite& suite) {
  const auto path = path_of(request, suite);
  if (!path) return tl::unexpected(path.error());
  const Basis& basis = request.basis;
  Submission submission;
  submission.level_name = basis.choice.level;
  Diagnostics diagnostics;
  const std::string level = level_file_of(basis.choice.level);
  submission.level_file = read(basis.at.suite / level, level, diagnostics);
  submission.rules_file = read(basis.at.suite / kRulesFile, kRulesFile, diagnostics);
  submission.path_file = *(*path)->file;
  for (const fs::path& file : request.waivers)
    submission.waiver_files.push_back(read(file, file.string(), diagnostics));
  if (diagnostics.empty()) decode_files(submission, suite.names, diagnostics);
  if (!diagnostics.empty()) return refuse(std::move(diagnostics));
  return submission;
}

bool declares(const RunRecord& run) {
  return std::any_of(run.verdicts.begin(), run.verdicts.end(), [](const Verdict& verdict) {
    return verdict.found.unsupported_by == UnsupportedBy::declaration &&
           verdict.found.stage.empty();
  });
}

/// The saved tensors of waived verdicts.
Result<void> take_tensors(Submission& submission, const fs::path& folder) {
  for (const Verdict& verdict : submission.run.verdicts) {
    if (verdict.account.standing != Standing::waived) continue;
    for (const OutputComparison& output : verdict.found.outputs) {
      for (const std::string& name : output.tensors) {
        auto bytes = read_file(folder / name, kArchiveLimits.bytes);
        if (!bytes) return tl::unexpected(bytes.error());
        submission.tensors[name] = std::move(*bytes);
      }
    }
  }
  return {};
}

/// A run with the files and the pace of a request, and with this selection.
RunRequest run_of(const Basis& basis, Choice choice) {
  RunRequest run;
  run.basis = basis;
  run.basis.choice = std::move(choice);
  return run;
}

/// Executes a run in a directory, continues the one that is there, or takes it if it is complete.
Answer<RunRecord> run_in(const fs::path& directory, RunRequest request, const CarryOut& carry_out,
                         std::unique_ptr<Session> session = nullptr) {
  std::error_code error;
  request.out = directory;
  if (fs::exists(directory / RunLog::kFileName, error)) {
    auto known = read_log(directory);
    if (!known) return refuse(Exit::usage, known.error());
    if (known->complete()) return std::move(*known);
    RunRequest rest;
    rest.basis.at = request.basis.at;
    rest.resume = directory;
    request = std::move(rest);
    session = nullptr;  // its files are those of the log
  }
  auto record = carry_out(request, std::move(session));
  if (record && !record->complete()) return tl::unexpected(Failure{Exit::interrupted, {}, {}});
  return record;
}

/// The folder of a run that a certificate rests on.
Answer<fs::path> folder_of(const fs::path& given, const Surroundings& at) {
  if (!given.empty()) return fs::absolute(given);
  auto made = new_directory(at.cache / "certificates", utc_now());
  if (!made) return refuse(Exit::internal, made.error());
  return std::move(*made);
}

/// Executes what the path's file declares not to support.
Answer<RunRecord> run_declared(RunRequest run, const fs::path& folder, const CarryOut& carry_out) {
  run.save_tensors = false;
  run.repeat = 1;
  run.repeat_percent = 100;
  run.repeat_seed.clear();
  run.repeat_by.clear();
  run.fresh_seed = kNoneFresh;
  run.ignore_declared = true;
  run.basis.choice.from = folder;
  run.basis.choice.select = {"status:unsupported"};
  run.reporting.min_judged = 0;
  return run_in(folder / "declared", std::move(run), carry_out);
}

/// A random part of the verdicts that were executed; at least one, if there are any.
std::vector<const Verdict*> sample_of(const RunRecord& run, const std::string& drawn,
                                      double percent) {
  std::vector<const Verdict*> executed, sample;
  for (const Verdict& verdict : run.verdicts) {
    if (verdict.found.status != Status::unsupported) executed.push_back(&verdict);
  }
  const std::uint64_t seed = std::stoull(drawn);
  std::copy_if(executed.begin(), executed.end(), std::back_inserter(sample),
               [&](const Verdict* each) { return is_drawn(seed, percent, each->facts.id); });
  if (sample.empty() && !executed.empty()) sample.push_back(executed[seed % executed.size()]);
  return sample;
}

/// Writes the files of an archive that judging its verdicts takes, where the suite has not the
/// same, and adds them to a run.
Result<void> add_files(const Submission& submission, const Suite& suite, const fs::path& folder,
                       OwnFiles& files) {
  const auto add = [&](std::vector<fs::path>& all, const std::string& name,
                       const std::string& text) {
    all.push_back(folder / name);
    return write_file(folder / name, text);
  };
  const bool is_known = std::any_of(suite.paths.begin(), suite.paths.end(), [&](const Path& path) {
    return path.name == submission.path.name && path.declared == submission.path.declared;
  });
  Result<void> written;
  if (!is_known) written = add(files.path_files, "path.json", submission.path_file.text);
  for (std::size_t i = 0; i < submission.waiver_files.size() && written; ++i)
    written =
        add(files.known_files, fmt::format("waivers-{}.json", i), submission.waiver_files[i].text);
  return written;
}

/// What is wrong with an archive of a run that was there before: as anybody would verify it, and by
/// a sample that is executed here.
Answer<std::vector<Error>> check_taken(const Basis& basis, const std::string& archive,
                                       const CarryOut& carry_out) {
  constexpr double kSample = 10;  // percent
  VerifyRequest request;
  request.basis = basis;
  request.sample = kSample;
  auto verified = verify(request, pieces_of(archive));
  if (!verified) return tl::unexpected(verified.error());
  if (!verified->errors.empty()) return std::move(verified->errors);
  const auto sampled = execute_sample(request, std::move(*verified), carry_out);
  if (!sampled) return tl::unexpected(sampled.error());
  std::vector<Error> wrong;
  for (const Differently& each : sampled->others)
    wrong.push_back(
        {fmt::format("executed again here: {}: {} in the log, {} here", each.id,
                     info(each.then).label, each.here ? info(*each.here).label : "not run"),
         ""});
  return wrong;
}

}  // namespace

std::string level_file_of(const std::string& level) {
  return fmt::format("expected/levels/{}.json", level);
}

SuiteAtHand suite_at_hand(const Session& session) {
  const Suite& suite = session.suite();
  SuiteAtHand result;
  result.level = [suite = session.settings().root](const std::string& name) {
    // It is a stranger's word.
    const bool is_name = name.find("..") == std::string::npos && !name.starts_with('/');
    return is_name ? read_file(suite / level_file_of(name)).value_or("") : std::string();
  };
  result.is_meant = [&cases = suite.cases](const std::string& instance, const std::string& device,
                                           const std::string& path) {
    return is_meant(cases, instance, device, path);
  };
  result.rules = read_file(session.settings().root / kRulesFile).value_or("");
  result.judge = judge_digest();
  std::copy_if(suite.expectations.begin(), suite.expectations.end(),
               std::back_inserter(result.expectations),
               [](const Expectation& rule) { return !rule.added; });
  result.names = suite.names;
  return result;
}

Answer<Certified> certify(const CertifyRequest& asked, const CarryOut& carry_out) {
  CertifyRequest request = asked;
  request.basis.at.residents.clear();  // what is certified has workers of its own
  Choice& choice = request.basis.choice;
  if (choice.devices.empty()) choice.devices = {"cpu"};
  RunRequest run = run_of(request.basis, choice);
  run.basis.files.known_files = request.waivers;
  auto opened = open_session(run.basis, Torch::needed);
  if (!opened) return tl::unexpected(opened.error());
  auto session = std::make_unique<Session>(std::move(*opened));
  auto submission = begin_submission(request, session->suite());
  if (!submission) return tl::unexpected(submission.error());
  const auto folder = folder_of(request.run_folder, request.basis.at);
  if (!folder) return tl::unexpected(folder.error());
  note_meant(*submission, choice.devices.front(), suite_at_hand(*session));
  const CertificationRules& rules = submission->rules;
  run.save_tensors = true;
  run.repeat = rules.times;
  run.repeat_percent = rules.percent;
  run.repeat_by = repeated_by(submission->path_file, submission->level_file);
  if (auto seed = settle_fresh(run.fresh_seed); !seed) return tl::unexpected(seed.error());
  std::error_code unknown;
  const bool was_there = fs::exists(*folder / RunLog::kFileName, unknown);
  auto record = run_in(*folder, run, carry_out, std::move(session));
  if (!record) return tl::unexpected(record.error());
  submission->run = std::move(*record);
  if (declares(submission->run)) {
    auto declared = run_declared(run, *folder, carry_out);
    if (!declared) return tl::unexpected(declared.error());
    submission->declared = std::move(*declared);
  }
  if (auto taken = take_tensors(*submission, *folder); !taken)
    return refuse(Exit::internal, taken.error());
  auto archive = make_certificate(*submission);
  if (!archive) return Certified{std::move(*submission), "", archive.error()};
  if (was_there) {
    auto wrong = check_taken(request.basis, *archive, carry_out);
    if (!wrong) return tl::unexpected(wrong.error());
    if (!wrong->empty()) return Certified{std::move(*submission), "", std::move(*wrong)};
  }
  return Certified{std::move(*submission), std::move(*archive), {}};
}

Answer<Verified> verify(const VerifyRequest& request, const Pieces& archive) {
  auto opened = open_session(request.basis);
  if (!opened) return tl::unexpected(opened.error());
  auto session = std::make_unique<Session>(std::move(*opened));
  auto submission = check_certificate(archive, suite_at_hand(*session));
  if (!submission) return Verified{{}, submission.error(), nullptr};
  return Verified{std::move(*submission), {}, std::move(session)};
}

Answer<Sampled> execute_sample(const VerifyRequest& request, Verified verified,
                               const CarryOut& carry_out) {
  const Submission& submission = verified.submission;
  Sampled sampled;
  sampled.seed = request.seed;
  if (auto seed = settle_seed("--seed", sampled.seed); !seed) return tl::unexpected(seed.error());
  const auto folder = folder_of({}, request.basis.at);
  if (!folder) return tl::unexpected(folder.error());
  const std::vector<const Verdict*> sample =
      sample_of(submission.run, sampled.seed, request.sample);
  Choice choice;
  choice.level = submission.level_name;
  for (const Verdict* verdict : sample) choice.select.push_back(verdict->facts.id);
  RunRequest run = run_of(request.basis, std::move(choice));
  run.reporting.min_judged = 0;
  if (auto seed = settle_fresh(run.fresh_seed); !seed) return tl::unexpected(seed.error());
  OwnFiles& files = run.basis.files;
  const std::size_t before = files.path_files.size() + files.known_files.size();
  if (auto added = add_files(submission, verified.session->suite(), *folder, files); !added)
    return refuse(Exit::internal, added.error());
  const bool same = files.path_files.size() + files.known_files.size() == before;
  const auto here = run_in(*folder / "run", std::move(run), carry_out,
                           same ? std::move(verified.session) : nullptr);
  if (!here) return tl::unexpected(here.error());
  std::map<std::string, Status> found;
  for (const Verdict& verdict : here->verdicts) found[verdict.facts.id] = verdict.found.status;
  sampled.executed = sample.size();
  for (const Verdict* verdict : sample) {
    const auto one = found.find(verdict->facts.id);
    if (one == found.end())
      sampled.others.push_back({verdict->facts.id, verdict->found.status, std::nullopt});
    else if (one->second != verdict->found.status)
      sampled.others.push_back({verdict->facts.id, verdict->found.status, one->second});
  }
  return sampled;
}

}  // namespace lockstep
