#include "requests/prepare.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/shard.h"
#include "record/draw.h"
#include "record/judged.h"
#include "record/log.h"
#include "record/machine.h"
#include "requests/decode.h"
#include "requests/member.h"
#include "requests/open.h"
#include "requests/packing.h"
#include "requests/resume.h"
#include "requests/run_directory.h"
#include "requests/settle.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Up to so many instances that are named by their ids, each is printed with its numbers.
constexpr std::size_t kFew = 5;

/// Packages that one child of the eager worker executes: a fork costs as much as several of them.
constexpr int kReplayBatch = 32;

/// What `pack`, `replay` and `serve` change of a run.
struct Variant {
  std::vector<std::string> words;         ///< of the request; empty: those of the run
  std::optional<fs::path> pack;           ///< to be written
  std::optional<PackInfo> replayed = {};  ///< what is executed
  fs::path replayed_folder = {};
  const MemberRequest* member = nullptr;
};

SessionSettings settings_of(const RunRequest& request, const Variant& variant) {
  SessionSettings settings = session_settings(request.basis);
  if (variant.pack) settings.save_jobs = *variant.pack / kSavedJobs;
  if (variant.replayed) {
    settings.saved_jobs = variant.replayed_folder / kSavedJobs;
    settings.schemas = variant.replayed_folder / "schemas.json";
    settings.eager_batch = request.alone ? 1 : kReplayBatch;
  }
  return settings;
}

/// Whether ids without a wildcard are asked for.
bool names_ids(const Filter& filter) {
  const std::vector<std::string> ids = filter.ids();
  return !ids.empty() && std::all_of(ids.begin(), ids.end(), [](const std::string& id) {
    return id.find_first_of("*?") == std::string::npos;
  });
}

/// A directory in which nothing was run.
void remove_unused(const fs::path& directory, const RunRequest& request) {
  std::error_code error;
  fs::remove(directory / "worker-eager.log", error);
  if (request.out.empty() && request.resume.empty()) fs::remove(directory, error);
}

/// What a log says that verdicts took, by their ids.
Answer<std::map<std::string, double>> seconds_of(const fs::path& log) {
  std::map<std::string, double> seconds;
  if (log.empty()) return seconds;
  auto durations = read_log(log);
  if (!durations) return refuse(Exit::usage, durations.error());
  for (const Verdict& verdict : durations->verdicts)
    seconds[verdict.facts.id] = verdict.origin.seconds;
  return seconds;
}

PlanRequest plan_request(const Prepared& prepared, const Variant& variant) {
  PlanRequest request = prepared.session->plan_request(prepared.selection.filter);
  request.earlier = &prepared.selection.earlier;
  request.relations = prepared.request.basis.choice.relations;
  request.ignore_declared = prepared.request.ignore_declared;
  request.alone = prepared.request.alone || variant.replayed;  // as it was packed
  return request;
}

/// Says why nothing of a plan is left.
tl::unexpected<Failure> nothing_left(const PlanRequest& request,
                                     const std::vector<AbsentPath>& absent) {
  if (absent.empty()) return nothing_selected(request);
  Failure failure{Exit::internal, {}, {}};
  for (const AbsentPath& path : absent)
    failure.errors.push_back(
        {fmt::format("the path {} cannot be used here: {}", path.name, path.reason), ""});
  return tl::unexpected(std::move(failure));
}

/// Makes the plan; `absent` gets the default paths that cannot be used here.
Answer<void> make_plan(Prepared& prepared, PlanRequest& request, const Variant& variant,
                       const Means& means, std::vector<AbsentPath>& absent) {
  if (auto meant = check_terms(request); !meant) return meant;
  const std::size_t instances = instance_ids(request).size();
  if (instances == 0) return nothing_selected(request);
  prepared.asks_of_few = instances <= kFew && names_ids(request.filter);
  prepared.session->engine().on_note = means.note;
  auto found = prepared.session->leave_out_absent(request, prepared.request.basis.choice.ladder);
  prepared.session->engine().on_note = nullptr;
  if (!found) return tl::unexpected(Failure{Exit::interrupted, {}, {}});
  absent = std::move(*found);
  Diagnostics diagnostics;
  prepared.plan = lockstep::make_plan(request, diagnostics);
  if (!diagnostics.empty()) return refuse(std::move(diagnostics));
  if (variant.pack) {
    if (auto packable = check_packable(prepared.plan); !packable) return packable;
  }
  if (variant.replayed) keep_packed(prepared.plan, *variant.replayed);
  if (prepared.plan.items.empty()) return nothing_left(request, absent);
  if (const std::string& seed = prepared.request.shuffle; !seed.empty())
    shuffle(prepared.plan, std::stoull(seed));
  return {};
}

RunInfo info_of(const Prepared& prepared, const std::string& now, std::vector<AbsentPath> absent) {
  const RunRequest& request = prepared.request;
  RunInfo info;
  std::error_code unknown;
  info.version = LOCKSTEP_VERSION;
  info.started = now;
  info.arguments = prepared.words;
  info.directory = fs::current_path(unknown).string();
  info.level = prepared.selection.level;
  info.absent_paths = std::move(absent);
  info.min_judged = request.reporting.min_judged;
  if (!info.min_judged && (request.reporting.strict || !info.level.empty()))
    info.min_judged = kMinJudged;
  if (!request.repeat_seed.empty())  // settled where a part is repeated
    info.repeated_part =
        RepeatedPart{request.repeat, request.repeat_percent, std::stoull(request.repeat_seed)};
  return info;
}

/// How a verdict is repeated: with the files of the session, which SELECT named, too.
std::string repeat_options(const Prepared& prepared) {
  Basis basis = prepared.request.basis;
  const SessionSettings& settings = prepared.session->settings();
  basis.files = settings.files;
  // An id says nothing of the level.
  if (settings.pace.threads != kThreads) basis.pace.threads = settings.pace.threads;
  return lockstep::repeat_options(basis);
}

void take_shard(Prepared& prepared, const std::map<std::string, double>& seconds) {
  const RunRequest& request = prepared.request;
  if (request.shard.empty()) return;
  Plan& plan = prepared.plan;
  RunInfo& info = prepared.settings.info;
  const Shard shard = *parse_shard(request.shard, {});
  info.shard = ShardInfo{shard.number, shard.of, plan.digest, plan.items.size()};
  lockstep::take_shard(plan, shard, request.durations.empty() ? nullptr : &seconds);
  info.plan = plan.digest;
  info.planned = plan.items.size();
}

/// How the plan is executed, without the verdicts of an earlier run.
void settle_run(Prepared& prepared, const PlanRequest& planned, RunInfo info,
                const Variant& variant, const Means& means, const fs::path& directory,
                const std::map<std::string, double>& seconds) {
  const RunRequest& request = prepared.request;
  RunSettings& settings = prepared.settings;
  settings = prepared.session->run_settings(planned, prepared.plan, std::move(info),
                                            prepared.selection.every_case && !variant.replayed);
  settings.repro_options = repeat_options(prepared);
  if (variant.replayed) {
    settings.launcher = request.basis.at.launcher;
    settings.command = "replay " + shell_quote(variant.replayed_folder.string());
    settings.repro_options.clear();
    settings.machine["pack made"] = variant.replayed->made;
    const std::string other = difference_of(*variant.replayed, prepared.session->environment());
    if (!other.empty() && means.note) means.note(other);
  }
  settings.cluster =
      cluster_options(request, prepared.selection.filter, prepared.plan, directory, seconds);
  take_shard(prepared, seconds);
  settings.directory = directory;
  settings.max_failures = request.max_fail;
  settings.strict = request.reporting.strict;
  settings.repeat = request.repeat;
  settings.retries = request.retries;
  if (!request.fresh_seed.empty() && request.fresh_seed != kNoneFresh)
    settings.fresh_seed = std::stoull(request.fresh_seed);
  settings.save_tensors = request.save_tensors;
  if (variant.member == nullptr) return;
  settings.requests = variant.member->requests;
  settings.log_to = variant.member->log_to;
  settings.operators = nullptr;  // the machine that gives the requests counts the coverage
}

/// Lets the run take what earlier ones know.
Answer<void> take_earlier(Prepared& prepared, std::optional<RunRecord> resumed) {
  RunSettings& settings = prepared.settings;
  const RunRequest& request = prepared.request;
  if (request.reuse) {
    auto reused = prepared.session->reuse_verdicts(request.basis.at.cache / "verdicts",
                                                   prepared.plan, settings);
    if (!reused) return refuse(Exit::internal, reused.error());
  }
  if (!resumed) return {};
  if (auto can = can_resume(*resumed, settings.info, prepared.session->environment()); !can)
    return refuse(Exit::usage, {fmt::format("cannot go on with {}: {}", settings.directory.string(),
                                            can.error().message),
                                can.error().hint});
  settings.resumed = std::move(resumed);
  return {};
}

/// The rest, once torch has started; removes the directory if there is nothing to run.
Answer<void> make_ready(Prepared& prepared, const Variant& variant, const Means& means,
                        const fs::path& directory, const std::string& now) {
  PlanRequest request = plan_request(prepared, variant);
  std::vector<AbsentPath> absent;
  auto made = make_plan(prepared, request, variant, means, absent);
  if (!made) return made;
  const auto seconds = seconds_of(prepared.request.durations);
  if (!seconds) return tl::unexpected(seconds.error());
  settle_run(prepared, request, info_of(prepared, now, std::move(absent)), variant, means,
             directory, *seconds);
  if (variant.member == nullptr) return {};
  const Session& session = *prepared.session;
  const RunSettings& settings = prepared.settings;
  const std::string unlike =
      difference_from(variant.member->alike, settings.info, session.eager().name,
                      session.environment(), settings.machine);
  if (!unlike.empty()) return refuse(Exit::usage, {unlike, ""});
  return {};
}

/// Repeats as often as the level says, where the request does not say how often.
Answer<void> repeat_as_level(RunRequest& request, const Session& session) {
  if (request.repeat > 1) return {};
  request.repeat = session.level().repeat;
  if (request.repeat == 1 || (!request.reuse && request.retries == 0)) return {};
  return refuse(Exit::usage, {fmt::format("found {} beside --level {}, which executes everything "
                                          "{} times",
                                          request.reuse ? "--reuse" : "--retries",
                                          request.basis.choice.level, request.repeat),
                              "leave it out"});
}

/// Settles which part is repeated, where that follows from the packages of the paths.
Answer<void> settle_repeated(RunRequest& request, Session& session) {
  if (request.repeat_by.empty()) return {};
  Json environment = {{session.eager().name, session.environment()}};
  for (const Path& path : session.suite().paths) {
    if (!contains(request.basis.choice.paths, path.name)) continue;
    const WorkerSpec worker = session.worker(path);
    const auto hello = session.wait_for(worker);
    if (!hello) return refuse(Exit::internal, hello.error());
    environment[worker.name] = hello->value("environment", Json::object());
  }
  request.repeat_seed = std::to_string(seed_by_packages(request.repeat_by, environment));
  return {};
}

Answer<Prepared> prepare(RunRequest request, Variant variant, const Means& means,
                         std::unique_ptr<Session> session = nullptr) {
  if (auto settled = settle(request); !settled) return tl::unexpected(settled.error());
  std::optional<RunRecord> resumed;
  if (!request.resume.empty()) {
    auto resumption = read_resumption(request);
    if (!resumption) return refuse(Exit::usage, resumption.error());
    request = std::move(resumption->request);
    resumed = std::move(resumption->record);
  } else if (auto unused = check_out(request.out); !unused) {
    return refuse(Exit::usage, unused.error());
  }
  if (!session) {
    auto opened = open_session(settings_of(request, variant), Torch::needed);
    if (!opened) return tl::unexpected(opened.error());
    session = std::make_unique<Session>(std::move(*opened));
  }
  auto selected = selection(request.basis, *session, {request.reporting.strict, true});
  if (!selected) return tl::unexpected(selected.error());
  if (variant.pack && !names_paths(selected->filter))
    selected->filter = selected->filter.on_paths(packaging_paths(session->suite().paths));
  if (auto repeated = repeat_as_level(request, *session); !repeated)
    return tl::unexpected(repeated.error());
  const std::string now = utc_now();
  const auto directory = run_directory(request.resume.empty() ? request.out : request.resume,
                                       request.basis.at.runs, now);
  if (!directory) return refuse(Exit::internal, directory.error());
  auto started = start(*session, selected->filter, *directory, means);
  if (!started) return tl::unexpected(started.error());
  if (auto settled = settle_repeated(request, *session); !settled)
    return tl::unexpected(settled.error());
  Prepared prepared;
  prepared.words = variant.words.empty() ? words_of(request) : variant.words;
  prepared.request = std::move(request);
  prepared.session = std::move(session);
  prepared.selection = std::move(*selected);
  prepared.pack = variant.pack;
  if (auto ready = make_ready(prepared, variant, means, *directory, now); !ready) {
    remove_unused(*directory, prepared.request);
    return tl::unexpected(ready.error());
  }
  if (auto taken = take_earlier(prepared, std::move(resumed)); !taken)
    return tl::unexpected(taken.error());
  return prepared;
}

}  // namespace

Answer<Prepared> prepare(const RunRequest& request, const Means& means,
                         std::unique_ptr<Session> session) {
  return prepare(request, Variant{}, means, std::move(session));
}

Answer<Prepared> prepare(const PackRequest& request, const Means& means) {
  PackRequest asked = request;
  if (auto begun = begin_pack(asked.folder); !begun) return refuse(Exit::usage, begun.error());
  Variant variant{words_of(request), fs::absolute(asked.folder)};
  asked.run.alone = true;  // every instance gets a package of its own
  return prepare(std::move(asked.run), std::move(variant), means);
}

Answer<Prepared> prepare(const ReplayRequest& request, const Means& means) {
  ReplayRequest asked = request;
  auto opened = open_pack(asked);
  if (!opened) return tl::unexpected(opened.error());
  Variant variant{words_of(request), std::nullopt, std::move(*opened), asked.folder};
  return prepare(std::move(asked.run), std::move(variant), means);
}

Answer<Prepared> prepare(const MemberRequest& request, const Means& means) {
  Variant variant;
  variant.member = &request;
  return prepare(request.run, std::move(variant), means);
}

Answer<RunRecord> execute(Prepared& prepared, Reporter& reporter) {
  const RunSettings& settings = prepared.settings;
  auto record = prepared.session->run(prepared.plan, settings, reporter);
  if (!record) return refuse(Exit::internal, record.error());
  if (prepared.request.out.empty() && prepared.request.resume.empty())
    point_latest_at(settings.directory);
  return std::move(*record);
}

}  // namespace lockstep
