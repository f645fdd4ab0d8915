#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>
#include <thread>

#include "base/text.h"
#include "commands/artefacts.h"
#include "commands/commands.h"
#include "commands/home.h"
#include "commands/propose.h"
#include "commands/workers.h"
#include "engine/local.h"
#include "engine/scratch.h"
#include "record/machine.h"
#include "reports/console.h"
#include "reports/summary.h"
#include "reports/terminal.h"
#include "run/run.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The directory of a new run: its time, and a number when there are several in one second.
Result<fs::path> new_run_directory(const fs::path& runs, const std::string& now) {
  std::error_code error;
  fs::create_directories(runs, error);
  if (error)
    return fail(fmt::format("cannot make {}: {}", runs.string(), error.message()),
                "--out DIR or LOCKSTEP_CACHE choose another place");
  std::string name = now;
  std::replace(name.begin(), name.end(), ':', '-');
  for (int i = 1; i < 1000; ++i) {
    const fs::path directory = runs / (i == 1 ? name : fmt::format("{}-{}", name, i));
    if (fs::create_directory(directory, error)) return directory;
    if (error)
      return fail(fmt::format("cannot make {}: {}", directory.string(), error.message()),
                  "--out DIR or LOCKSTEP_CACHE choose another place");
  }
  return fail("cannot find a name for the directory of the run");
}

void point_latest_at(const fs::path& directory) {
  std::error_code error;
  const fs::path link = directory.parent_path() / "latest";
  const fs::path temporary = directory.parent_path() / fmt::format(".latest-{}", ::getpid());
  fs::create_directory_symlink(directory.filename(), temporary, error);
  fs::rename(temporary, link, error);
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The schemas of the torch that runs, which may not be the one that the build found: then sweeps
/// are expanded anew.  A worker that states no fingerprint has none, and only the structure of
/// cases is checked.
Result<std::optional<Registry>> matching_registry(Home& home, const Options& options,
                                                  const std::string& fingerprint) {
  std::optional<Registry> registry;
  if (!fingerprint.empty()) {
    if (home.registry && home.registry->fingerprint() == fingerprint)
      return std::move(*home.registry);
    auto dumped = dump_registry(options);
    if (!dumped) return tl::unexpected(dumped.error());
    registry = std::move(*dumped);
  }
  expand_sweeps(home.suite, registry ? &*registry : nullptr);
  return registry;
}

std::vector<std::string> available_devices(const Json& hello) {
  std::vector<std::string> devices;
  for (const Json& device : hello.value("devices", Json::array())) {
    if (device.is_string()) devices.push_back(device.get<std::string>());
  }
  return devices;
}

/// Where an interactive console writes, and how.
ConsoleOptions console_options(const Options& options) {
  const Terminal terminal = real_terminal();
  const ColorChoice choice = color_choice(options.color);
  ConsoleOptions console;
  console.color_out = use_color(terminal, terminal.out_is_terminal, choice);
  console.color_err = use_color(terminal, terminal.err_is_terminal, choice);
  console.live = use_live_line(terminal);
  console.columns = terminal.columns;
  console.verbose = options.verbose;
  console.strict = options.strict;
  const auto start = std::chrono::steady_clock::now();
  console.clock = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  return console;
}

/// Says which of the paths that were asked for by name judged nothing, because their settings
/// cannot be put in force here: a vendor whose package is missing must not get a green run.  Paths
/// that are there by default may be of another torch.
bool tell_unusable_paths(const RunRecord& record, const Options& options,
                         const std::vector<Path>& paths) {
  bool unusable = false;
  for (const Path& path : paths) {
    if (!path.added &&
        std::find(options.paths.begin(), options.paths.end(), path.name) == options.paths.end())
      continue;
    const Verdict* refused = nullptr;
    bool judged = false;
    for (const Verdict& verdict : record.verdicts) {
      if (verdict.path != path.name) continue;
      judged |= verdict.status != Status::unsupported;
      if (verdict.stage == "configure") refused = &verdict;
    }
    if (judged || refused == nullptr) continue;
    print_error({fmt::format("the path {} cannot be used here and judged nothing: {}", path.name,
                             refused->reason),
                 "bring what its file asks for, or leave the path out"});
    unusable = true;
  }
  return unusable;
}

/// Appends the summary to the page of the job, where GitHub says which file that is.
Result<void> add_to_job_page(const RunRecord& record, bool strict) {
  const char* page = std::getenv("GITHUB_STEP_SUMMARY");
  if (page == nullptr || *page == '\0') return {};
  errno = 0;
  if ((std::ofstream(page, std::ios::app) << summary(record, strict)).flush()) return {};
  return fail(
      fmt::format("cannot write the job's summary to {}: {}", page, std::strerror(errno)),
      "GITHUB_STEP_SUMMARY names that file; without it, or without --github, there is none");
}

Exit finish(const RunRecord& record, const Options& options, const fs::path& directory,
            const std::vector<Path>& paths) {
  if (auto written = write_reports(record, directory, options.strict); !written) {
    print_error(written.error());
    return Exit::internal;
  }
  bool single = false;
  if (auto written = write_single_reports(record, options, single); !written) {
    print_error(written.error());
    return Exit::internal;
  }
  if (!options.update_known.empty()) {
    if (auto proposed = propose(record, options); !proposed) {
      print_error(proposed.error());
      return Exit::internal;
    }
  }
  if (options.github) {
    print_annotations(record, options);
    if (auto written = add_to_job_page(record, options.strict); !written) {
      print_error(written.error());
      return Exit::internal;
    }
  }
  fmt::print(stderr, "log and reports: {}\n", directory.string());
  if (record.verdicts.size() < record.info.planned) {
    fmt::print(stderr, "{} after {} of {} verdicts; `ci/lockstep run --resume {}` goes on\n",
               record.end->interrupted ? "interrupted" : "stopped", record.verdicts.size(),
               record.info.planned, shell_quote(directory.string()));
  }
  if (record.end->interrupted) return Exit::interrupted;
  const Tally counts = tally(record, options.strict);
  // A worker that can never be used says nothing of any case.
  const bool all_lost =
      !record.verdicts.empty() &&
      std::all_of(record.verdicts.begin(), record.verdicts.end(),
                  [](const Verdict& verdict) { return verdict.status == Status::worker_lost; });
  if (all_lost) return Exit::internal;
  if (tell_unusable_paths(record, options, paths) && counts.failing == 0) return Exit::internal;
  return counts.failing > 0 ? Exit::failures : Exit::ok;
}

/// Which of the suite's instances the plan takes whole, on which paths.
ExpectationScope scope_of(const PlanRequest& request, const Plan& plan, bool whole_suite) {
  ExpectationScope scope;
  scope.whole_suite = whole_suite;
  scope.devices = plan.devices;
  std::set<std::string> ran;
  for (const Instance& instance : plan.instances) ran.insert(instance.id);
  for (const CaseFile& file : *request.suite) {
    for (const MatrixChoice& choice : file.choices) {
      for (const std::string& device : plan.devices) {
        const std::string id = file.id + choice.suffix + "@" + device;
        scope.instances.push_back({file.id, id, ran.contains(id)});
      }
    }
  }
  // Terms that look at single verdicts make paths partial: then nothing can be told.
  const std::vector<std::string> ids = request.filter.ids();
  const bool single = std::any_of(ids.begin(), ids.end(), [](const std::string& id) {
    const std::size_t at = id.find('@');
    return at != std::string::npos && id.find('/', at) != std::string::npos;
  });
  if (single || request.filter.mentions("status")) return scope;
  std::set<std::size_t> used;
  for (const PlanItem& item : plan.items) used.insert(item.path);
  for (const std::size_t path : used) scope.paths.push_back(plan.paths[path].name);
  return scope;
}

/// The options of the run that is to be gone on with: those of its log, and where they do not
/// matter to its verdicts, the ones given now.
Result<Options> resumed_options(const Options& given, const RunRecord& record) {
  Options options = parse_options(record.info.arguments, record.info.directory);
  if (options.command != "run")
    return fail("the log does not say with which arguments its run was begun", "begin a new run");
  std::set<std::string> free = {"--resume",   "--jobs",         "--strict",
                                "--max-fail", "--fail-fast",    "--verbose",
                                "--github",   "--update-known", "--accept-crashes"};
  for (const ReportFlag& report : kReportFlags) free.insert(report.flag);
  for (const auto& [name, values] : given.given) {
    const auto before = options.given.find(name);
    if (free.contains(name) || (before != options.given.end() && before->second == values))
      continue;
    return fail(
        fmt::format("found {} {} beside --resume, but the run in {} goes on with what it was "
                    "begun with: {}",
                    name, fmt::join(values, " "), given.resume.string(),
                    fmt::join(record.info.arguments, " ")),
        fmt::format("leave {} out, or begin a new run", name));
  }
  options.resume = given.resume;
  options.out.clear();
  if (given.jobs > 0) options.jobs = given.jobs;
  if (given.max_fail > 0) options.max_fail = given.max_fail;
  options.strict |= given.strict;
  options.accept_crashes |= given.accept_crashes;
  if (!given.update_known.empty()) options.update_known = given.update_known;
  for (const ReportFlag& report : kReportFlags) {
    if (!(given.*report.file).empty()) options.*report.file = given.*report.file;
  }
  options.color = given.color;
  options.verbose |= given.verbose;
  options.github = given.github;
  options.eager = given.eager;
  options.python = given.python;
  return options;
}

}  // namespace

Exit command_run(const Options& given) {
  Options options = given;
  watch_for_interrupts();
  std::optional<RunRecord> resumed;
  if (!given.resume.empty()) {
    auto record = read_log(given.resume);
    auto first = record ? resumed_options(given, *record) : tl::unexpected(record.error());
    if (!first) {
      print_error(first.error());
      return Exit::usage;
    }
    options = std::move(*first);
    resumed = std::move(*record);
    if (!fs::is_directory(options.resume)) options.resume = options.resume.parent_path();
  }
  auto home = read_home(options);
  if (!home) return home.error();
  std::string level;
  auto filter = selection(options, home->paths, level);
  if (!filter) return filter.error();
  auto earlier = earlier_statuses(options, *filter);
  if (!earlier) return earlier.error();
  auto scratch = Scratch::create();
  if (!scratch) {
    print_error(scratch.error());
    return Exit::internal;
  }
  const std::size_t jobs =
      options.jobs > 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  const std::string now = utc_now();
  Result<fs::path> directory = resumed ? options.resume : options.out;
  if (directory->empty()) {
    directory = new_run_directory(options.cache / "runs", now);
  } else {
    std::error_code error;
    fs::create_directories(*directory, error);
    if (error)
      directory = fail(fmt::format("cannot make {}: {}", directory->string(), error.message()));
  }
  if (!directory) {
    print_error(directory.error());
    return Exit::internal;
  }
  directory = fs::absolute(*directory);
  std::error_code directory_error;

  const WorkerSpec eager = eager_worker(options);
  LocalEngine engine({jobs,
                      {options.compile_timeout, options.timeout, 600},
                      scratch->path(),
                      *directory,
                      hello_message(options, home->paths)});
  auto hello = wait_for_hello(engine, eager);
  if (!hello) {
    if (interrupted()) return Exit::interrupted;
    print_error(hello.error());
    return Exit::internal;
  }
  const Json environment = hello->value("environment", Json::object());
  auto registry =
      matching_registry(*home, options, environment.value("fingerprint", std::string()));
  if (!registry) {
    print_error(registry.error());
    return Exit::internal;
  }

  Diagnostics diagnostics;
  const Registry* schemas = *registry ? &**registry : nullptr;
  const PlanRequest request{
      &home->suite, home->paths,  available_devices(*hello), *filter, {schemas, "cpu", true},
      &*earlier,    options.alone};
  Plan plan = make_plan(request, diagnostics);
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  if (plan.items.empty()) {
    fs::remove(*directory / "worker-eager.log", directory_error);
    if (options.out.empty() && !resumed) fs::remove(*directory, directory_error);
    return nothing_selected(request);
  }
  if (!options.shuffle.empty()) {
    shuffle(plan, std::stoull(options.shuffle));
    fmt::print(stderr, "in random order; --shuffle={} repeats it\n", options.shuffle);
  }

  RunSettings settings;
  settings.directory = *directory;
  settings.scratch = scratch->path();
  settings.jobs = jobs;
  settings.max_failures = options.max_fail;
  settings.strict = options.strict;
  settings.repeat = options.repeat;
  settings.keep = options.keep;
  // Terms of paths and devices leave the cases alone, and the scope tells of them by itself.
  const bool every_case =
      std::all_of(options.select.begin(), options.select.end(), [](const std::string& term) {
        return term.starts_with("path:") || term.starts_with("device:");
      });
  settings.scope = scope_of(request, plan, level == "all" && every_case);
  settings.machine = machine_environment();
  settings.machine["threads"] = options.threads;
  settings.machine["eager worker"] = file_digest(eager_executable(options));
  settings.machine["compiled worker"] =
      folder_digest(compiled_worker_modules(options) / "lockstep_worker", ".py");
  for (std::size_t i = 0; i < options.libraries.size(); ++i) {
    const fs::path& library = options.libraries[i];
    settings.machine[fmt::format("library {}", i)] =
        fmt::format("{} ({})", library.string(), file_digest(library));
  }
  for (const fs::path& file : options.path_files)
    settings.repro_options += " --path-file " + shell_quote(file.string());
  for (const fs::path& library : options.libraries)
    settings.repro_options += " --library " + shell_quote(library.string());
  settings.eager = eager;
  settings.worker_of = [&](const Path& path) { return worker_for(path, options, eager); };
  settings.info = {LOCKSTEP_VERSION,
                   now,
                   options.arguments,
                   fs::current_path(directory_error).string(),
                   level,
                   home->digest,
                   plan.digest,
                   plan.items.size(),
                   jobs,
                   {},
                   plan.devices};
  std::vector<bool> used(plan.paths.size(), false);
  for (const PlanItem& item : plan.items) used[item.path] = true;
  for (std::size_t i = 0; i < plan.paths.size(); ++i) {
    const Path& path = plan.paths[i];
    if (used[i])
      settings.info.paths.push_back({path.name, path.title, std::string(name_of(path.promise))});
  }
  if (resumed) {
    if (auto can = can_resume(*resumed, settings.info, environment); !can) {
      print_error(
          {fmt::format("cannot go on with {}: {}", directory->string(), can.error().message),
           can.error().hint});
      return Exit::usage;
    }
    settings.resumed = std::move(resumed);
  }
  settings.expectations = home->expectations;
  settings.conditions = {environment.value("torch", std::string()),
                         lower(environment.value("cpu_capability", std::string())),
                         now.substr(0, 10)};

  // Where a report is the data on standard output, what people read goes to standard error.
  Console console(writes_to_stdout(options) ? std::cerr : std::cout, std::cerr,
                  console_options(options));
  auto record = execute(plan, engine, settings, console);
  if (!record) {
    print_error(record.error());
    return Exit::internal;
  }
  if (options.out.empty() && !settings.resumed) point_latest_at(*directory);
  const Exit exit = finish(*record, options, *directory, plan.paths);
  if (exit == Exit::ok && level == "smoke")
    fmt::print(stderr,
               "this was the level `smoke`; `ci/lockstep run --level all` runs every case\n");
  return exit;
}

}  // namespace lockstep
