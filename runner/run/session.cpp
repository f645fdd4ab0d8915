#include "run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <sstream>
#include <unordered_map>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/files.h"
#include "base/text.h"
#include "engine/replaying.h"
#include "record/judge_digest.h"
#include "record/machine.h"
#include "run/absent_paths.h"
#include "run/scope.h"
#include "run/workers.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The facts of a record about the machine, and about software on it that no worker reports.
Json machine_of(const SessionSettings& settings, const Json& eager) {
  Json machine = machine_environment(cuda_runtime_of(settings, eager));
  machine["threads"] = settings.pace.threads;
  machine["eager worker"] = file_digest(settings.eager);
  machine["compiled worker"] =
      folder_digest(compiled_worker_modules(settings) / "lockstep_worker", ".py");
  for (std::size_t i = 0; i < settings.files.modules.size(); ++i) {
    const std::string& module = settings.files.modules[i];
    machine[fmt::format("module {}", i)] =
        module.ends_with(".py") ? fmt::format("{} ({})", module, file_digest(module)) : module;
  }
  for (std::size_t i = 0; i < settings.files.libraries.size(); ++i) {
    const fs::path& library = settings.files.libraries[i];
    machine[fmt::format("library {}", i)] =
        fmt::format("{} ({})", library.string(), file_digest(library));
  }
  return machine;
}

/// Which C++ compiler Inductor finds, and whether it is the one of another day.
std::string identity_of_compiler() {
  const char* named = std::getenv("CXX");
  const char* path = std::getenv("PATH");
  std::string name = named != nullptr && *named != '\0' ? named : "g++";
  std::error_code error;
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path file = fs::canonical(fs::path(folder) / name, error);
    if (error) continue;
    return fmt::format("{} {} {}", file.string(), fs::file_size(file, error),
                       fs::last_write_time(file, error).time_since_epoch().count());
  }
  return name;
}

/// Where an interpreter finds packages, and when one of them came or went last.
Json identity_of_packages(const fs::path& python) {
  Json folders = Json::array();
  std::error_code error;
  for (const auto& version :
       fs::directory_iterator(python.parent_path().parent_path() / "lib", error)) {
    for (const char* name : {"site-packages", "dist-packages"}) {
      const fs::path folder = version.path() / name;
      if (const auto changed = fs::last_write_time(folder, error); !error)
        folders.push_back({folder.string(), changed.time_since_epoch().count()});
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// The paths that a plan has items of.
std::vector<PathInfo> paths_of(const Plan& plan) {
  std::vector<bool> used(plan.paths.size(), false);
  for (const PlanItem& item : plan.items) used[item.path] = true;
  std::vector<PathInfo> paths;
  for (std::size_t i = 0; i < plan.paths.size(); ++i) {
    const Path& path = plan.paths[i];
    if (!used[i]) continue;
    paths.push_back({path.name, path.title, std::string(name_of(path.contract)),
                     Digest().add(path.declared.dump()).hex(), path.declared});
  }
  return paths;
}

}  // namespace

Session::Session(SessionSettings settings)
    : settings_(std::move(settings)), asks_for_threads_(settings_.pace.threads > 0) {
  if (!asks_for_threads_) settings_.pace.threads = level_.threads;
}

Result<void> Session::read_suite(Diagnostics& diagnostics) {
  auto suite = lockstep::read_suite(settings_, diagnostics);
  if (!suite) return tl::unexpected(suite.error());
  suite_ = std::move(*suite);
  python_operators_ = operators_of_modules(settings_, suite_.paths);
  return {};
}

void Session::expect_operators() {
  std::error_code error;
  // What is not there yet, or is dumped, is read when its turn comes.
  if (!settings_.files.libraries.empty() || !fs::exists(settings_.schemas, error)) return;
  expected_operators_ = std::async(
      std::launch::async, [settings = settings_] { return lockstep::read_operators(settings); });
}

Result<void> Session::read_operators() {
  auto operators =
      expected_operators_.valid() ? expected_operators_.get() : lockstep::read_operators(settings_);
  if (!operators) return tl::unexpected(operators.error());
  operators_ = std::move(*operators);
  return {};
}

void Session::expand() {
  expand_sweeps(suite_.cases, operators());
  complete(suite_.cases, level_);
}

void Session::use(Level level) {
  const bool is_frozen = !level.instances.empty() || !level_.instances.empty();
  level_ = std::move(level);
  if (!asks_for_threads_) settings_.pace.threads = level_.threads;
  if (is_frozen) expand();
}

Result<void> Session::start(const fs::path& logs) {
  auto scratch = Scratch::create();
  if (!scratch) return tl::unexpected(scratch.error());
  const fs::path path = scratch->path();
  scratch_.emplace(std::move(*scratch));
  engine_ = std::make_unique<LocalEngine>(LocalEngineOptions{
      settings_.pace.executions(), settings_.pace.limits, path, logs.empty() ? path : logs,
      hello_message(settings_, suite_.paths), settings_.save_jobs});
  if (!settings_.saved_jobs.empty())
    engine_ = std::make_unique<ReplayingEngine>(std::move(engine_), settings_.saved_jobs);
  return {};
}

Result<void> Session::start_on(std::unique_ptr<Engine> engine) {
  auto scratch = Scratch::create();
  if (!scratch) return tl::unexpected(scratch.error());
  scratch_.emplace(std::move(*scratch));
  engine_ = std::move(engine);
  return {};
}

void Session::warm_up(const Filter& filter) {
  const std::vector<std::string> named = filter.patterns("path");
  for (const Path& path : suite_.paths) {
    if (path.worker != "compiled" || !path.site.cpu_level.empty()) continue;
    if (names_paths(filter) ? contains(named, path.name) : path.is_default)
      engine_->warm_up(worker(path));
  }
}

WorkerSpec Session::eager() const { return eager_worker(settings_); }

WorkerSpec Session::worker(const Path& path) const { return worker_of(path, settings_); }

Result<Json> Session::wait_for(const WorkerSpec& worker) {
  return wait_for_hello(*engine_, worker);
}

Result<void> Session::meet_torch() {
  auto hello = wait_for(eager());
  if (!hello) return tl::unexpected(hello.error());
  environment_ = hello->value("environment", Json::object());
  met_torch_ = true;
  devices_ = strings_of(*hello, "devices");
  cpu_levels_ = strings_of(*hello, "cpu_levels");
  const std::string operators_digest = environment_.value("operators_digest", std::string());
  if (!operators_digest.empty()) {
    if (operators_ && operators_->operators_digest() == operators_digest) return {};
    auto dumped = dump_operators(settings_);
    if (!dumped) return tl::unexpected(dumped.error());
    operators_ = std::move(*dumped);
  } else {
    operators_.reset();
  }
  expand();
  return {};
}

PlanRequest Session::plan_request(const Filter& filter) const {
  std::vector<std::string> devices = met_torch_ ? devices_ : settings_.devices;
  if (!met_torch_ && devices.empty()) devices.emplace_back("cpu");
  return {&suite_.cases,
          suite_.paths,
          std::move(devices),
          filter,
          {operators(), "cpu", true, python_operators()}};
}

Result<std::vector<AbsentPath>> Session::leave_out_absent(PlanRequest& request, bool layers) {
  if (names_paths(request.filter) && !layers) return {};
  const std::vector<std::string> named = request.filter.patterns("path");
  std::vector<Path> asked;
  std::copy_if(request.paths.begin(), request.paths.end(), std::back_inserter(asked),
               [&](const Path& path) {
                 return !path.added && (layers ? contains(named, path.name) : path.is_default);
               });
  auto absent = find_absent_paths(*engine_, asked, cpu_levels_,
                                  [&](const Path& path) { return worker(path); });
  if (!absent) return absent;
  const auto is_absent = [&](const Path& path) {
    return std::any_of(absent->begin(), absent->end(),
                       [&](const AbsentPath& each) { return each.name == path.name; });
  };
  // Kept even if it is not named, so that a run without a selection reports it.
  if (layers) std::erase_if(request.paths, is_absent);
  for (Path& path : request.paths) path.is_default = path.is_default && !is_absent(path);
  return absent;
}

RunSettings Session::run_settings(const PlanRequest& request, const Plan& plan, RunInfo info,
                                  bool whole_suite) const {
  RunSettings run;
  run.workplace = workplace();
  run.scope = scope_of(request, plan, whole_suite);
  run.launcher = settings_.launcher;
  run.machine = machine_of(settings_, environment_);
  run.expectations = suite_.expectations;
  run.operators = operators();
  run.conditions = conditions_of(run.machine, environment_, info.started.substr(0, 10));
  run.conditions.cpu_of_paths = cpu_conditions_of(plan.paths, cpu_line("flags"));
  run.info = std::move(info);
  run.info.digests = digests_of_suite(settings_);
  run.info.plan = plan.digest;
  run.info.planned = plan.items.size();
  run.info.jobs = settings_.pace.executions();
  run.info.paths = paths_of(plan);
  run.info.devices = plan.devices;
  return run;
}

Workplace Session::workplace() const {
  return {settings_.pace.executions(),
          scratch_->path(),
          eager(),
          [settings = settings_](const Path& path) { return worker_of(path, settings); },
          cpu_levels_,
          environment_.value("torch", std::string()),
          settings_.pace.threads};
}

Result<void> Session::reuse_verdicts(const fs::path& folder, const Plan& plan,
                                     RunSettings& run) const {
  Json setting = {{"format", kLogFormat},
                  {"judge", std::string(judge_digest())},
                  {"machine", run.machine},
                  {"eager", environment_},
                  {"python", settings_.python},
                  {"packages", identity_of_packages(settings_.python)},
                  {"compiler", identity_of_compiler()},
                  {"seconds", {settings_.pace.limits.compile, settings_.pace.limits.other}},
                  {"memory", settings_.pace.memory_bytes()}};
  setting["machine"].erase("host");
  for (auto fact = setting["machine"].begin(); fact != setting["machine"].end();)
    fact = fact.key().ends_with(kFreeMemory) ? setting["machine"].erase(fact) : std::next(fact);
  auto cache = VerdictCache::open(folder, Digest().add(setting.dump()).hex());
  if (!cache) return tl::unexpected(cache.error());
  run.cache = std::make_shared<VerdictCache>(std::move(*cache));
  std::unordered_map<std::string_view, std::string> cases;  // digest by name of the file
  for (const CaseFile& file : suite_.cases)
    cases[file.file.name] = Digest().add(file.file.text).hex();
  for (const PlanItem& item : plan.items) {
    const Path& path = plan.paths[item.path];
    const auto text = cases.find(plan.instances[item.instance].declared->file);
    const bool is_known = path.torchs_own && path.command.empty() && text != cases.end() &&
                          path.declared.value("import", Json::array()).empty() &&
                          settings_.files.modules.empty();  // which import whatever they like
    run.cache_keys.push_back(
        is_known ? Digest().add(text->second + item.id + "\n" + path.declared.dump() + "\n").hex()
                 : std::string());
  }
  return {};
}

Result<RunRecord> Session::run(const Plan& plan, const RunSettings& settings, Reporter& reporter) {
  return execute(plan, *engine_, settings, reporter);
}

}  // namespace lockstep
