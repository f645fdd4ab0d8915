#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include "artefacts.h"
#include "base/files.h"
#include "base/text.h"
#include "commands.h"
#include "home.h"
#include "reports/console.h"
#include "reports/summary.h"
#include "reports/terminal.h"
#include "run/machine.h"
#include "run/run.h"
#include "run/scratch.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The directory of a new run: its time, and a number when there are several in one second.
Result<fs::path> new_run_directory(const fs::path& runs, const std::string& now) {
  std::error_code error;
  fs::create_directories(runs, error);
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

WorkerSpec eager_worker(const fs::path& directory) {
  return {
      "eager",
      {{beside_binary("lockstep-eager").string(), "worker"}, {}, directory / "worker-eager.log"}};
}

WorkerSpec worker_for(const Path& path, const Options& options, const fs::path& directory,
                      const WorkerSpec& eager) {
  if (path.worker == "eager") {
    WorkerSpec spec = eager;
    spec.command.environment = path.environment;
    return spec;
  }
  if (path.worker == "compiled") {
    WorkerSpec spec{"compiled",
                    {{options.python, "-m", "lockstep_worker"},
                     path.environment,
                     directory / "worker-compiled.log"}};
    std::string modules = (fs::absolute(options.home) / "runner" / "workers" / "compiled").string();
    if (const char* existing = std::getenv("PYTHONPATH"); existing != nullptr && *existing != '\0')
      modules += std::string(":") + existing;
    spec.command.environment.emplace_back("PYTHONPATH", modules);
    return spec;
  }
  return {path.name,
          {path.command, path.environment, directory / ("worker-" + path.name + ".log")}};
}

Json hello_message(const Options& options, const fs::path& scratch) {
  const double memory = options.memory_gib > 0 ? options.memory_gib * (1 << 30)
                                               : static_cast<double>(physical_memory());
  const auto bytes = static_cast<std::int64_t>(memory);
  Json hello = {{"type", "hello"},
                {"protocol", 1},
                {"threads", options.threads},
                {"scratch", scratch.string()},
                {"cache", nullptr},
                {"limits", {{"memory_bytes", bytes}, {"file_bytes", bytes}}},
                {"libraries", Json::array()}};
  if (!options.no_cache) hello["cache"] = (fs::absolute(options.cache) / "inductor").string();
  return hello;
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Waits for the eager worker's hello: it knows the devices.
Result<Json> wait_for_hello(Executor& executor, const WorkerSpec& worker) {
  executor.warm_up(worker);
  while (executor.hello_of(worker) == nullptr) {
    if (const std::string failure = executor.failure_of(worker); !failure.empty()) {
      return fail(fmt::format("the {} worker cannot be used: {}", worker.name, failure),
                  "`ci/lockstep check` works without it");
    }
    if (interrupted()) return fail("interrupted");
    executor.step(0.25);
  }
  return *executor.hello_of(worker);
}

/// The schemas of the torch that runs, which may not be the one that the build found.
Result<Registry> matching_registry(Home& home, const std::string& fingerprint,
                                   const fs::path& scratch) {
  if (home.registry && home.registry->fingerprint() == fingerprint)
    return std::move(*home.registry);
  const fs::path file = scratch / "schemas.json";
  const std::string command =
      fmt::format("{} schemas > {}", shell_quote(beside_binary("lockstep-eager").string()),
                  shell_quote(file.string()));
  if (std::system(command.c_str()) != 0)
    return fail("lockstep-eager cannot dump the operator schemas",
                "build again: remove .lockstep/build");
  return Registry::read(file);
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
  const ColorChoice choice = options.color == "always"  ? ColorChoice::always
                             : options.color == "never" ? ColorChoice::never
                                                        : ColorChoice::automatic;
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

Exit finish(const RunRecord& record, const Options& options, const fs::path& directory) {
  if (auto written = write_reports(record, directory, options.strict); !written) {
    print_error(written.error());
    return Exit::internal;
  }
  if (options.github) fmt::print("{}", github_annotations(record, options.strict));
  if (const char* page = std::getenv("GITHUB_STEP_SUMMARY"); page != nullptr && options.github) {
    std::ofstream(page, std::ios::app) << summary(record, options.strict);
  }
  fmt::print(stderr, "log and reports: {}\n", directory.string());
  if (record.end->interrupted && interrupted()) {
    fmt::print(stderr,
               "interrupted after {} of {} verdicts; `ci/lockstep run --resume {}` goes on\n",
               record.verdicts.size(), record.info.planned, shell_quote(directory.string()));
    return Exit::interrupted;
  }
  const Tally counts = tally(record, options.strict);
  // A worker that can never be used says nothing of any case.
  const bool all_lost =
      !record.verdicts.empty() &&
      std::all_of(record.verdicts.begin(), record.verdicts.end(),
                  [](const Verdict& verdict) { return verdict.status == Status::worker_lost; });
  if (all_lost) return Exit::internal;
  return counts.failing > 0 ? Exit::failures : Exit::ok;
}

}  // namespace

Exit command_run(const Options& options) {
  watch_for_interrupts();
  auto home = read_home(options);
  if (!home) return home.error();
  std::string level;
  auto filter = selection(options, level);
  if (!filter) return filter.error();
  auto scratch = Scratch::create();
  if (!scratch) {
    print_error(scratch.error());
    return Exit::internal;
  }
  const std::size_t jobs =
      options.jobs > 0 ? options.jobs : std::max(1U, std::thread::hardware_concurrency());
  const std::string now = utc_now();
  const bool resume = !options.resume.empty();
  Result<fs::path> directory = resume ? options.resume : options.out;
  if (directory->empty()) {
    directory = new_run_directory(options.cache / "runs", now);
  } else {
    std::error_code error;
    fs::create_directories(*directory, error);
  }
  if (!directory) {
    print_error(directory.error());
    return Exit::internal;
  }
  directory = fs::absolute(*directory);

  const WorkerSpec eager = eager_worker(*directory);
  Executor executor({jobs,
                     {options.compile_timeout, options.timeout, 600},
                     scratch->path(),
                     hello_message(options, scratch->path()),
                     false});
  auto hello = wait_for_hello(executor, eager);
  if (!hello) {
    if (interrupted()) return Exit::interrupted;
    print_error(hello.error());
    return Exit::internal;
  }
  const Json environment = hello->value("environment", Json::object());
  auto registry =
      matching_registry(*home, environment.value("fingerprint", std::string()), scratch->path());
  if (!registry) {
    print_error(registry.error());
    return Exit::internal;
  }

  Diagnostics diagnostics;
  const PlanRequest request{
      &home->suite, home->paths, available_devices(*hello), *filter, {&*registry, "cpu", true}};
  const Plan plan = make_plan(request, diagnostics);
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  if (plan.items.empty()) return nothing_selected(request);

  RunSettings settings;
  settings.directory = *directory;
  settings.scratch = scratch->path();
  settings.jobs = jobs;
  settings.max_failures = options.max_fail;
  settings.strict = options.strict;
  settings.whole_suite = level == "all" && options.paths.empty() && options.devices.empty();
  settings.resume = resume;
  settings.eager = eager;
  settings.worker_of = [&](const Path& path) {
    return worker_for(path, options, *directory, eager);
  };
  settings.info = {LOCKSTEP_VERSION,  now,  {}, level,       home->digest, plan.digest,
                   plan.items.size(), jobs, {}, plan.devices};
  settings.info.arguments = options.select;
  std::vector<bool> used(plan.paths.size(), false);
  for (const PlanItem& item : plan.items) used[item.path] = true;
  for (std::size_t i = 0; i < plan.paths.size(); ++i) {
    const Path& path = plan.paths[i];
    if (used[i])
      settings.info.paths.push_back({path.name, path.title, std::string(name_of(path.promise))});
  }
  settings.expectations = home->expectations;
  settings.scene = {environment.value("torch", std::string()),
                    lower(environment.value("cpu_capability", std::string())), now.substr(0, 10)};

  Console console(std::cout, std::cerr, console_options(options));
  auto record = execute(plan, executor, settings, console);
  if (!record) {
    print_error(record.error());
    return Exit::internal;
  }
  if (options.out.empty() && !resume) point_latest_at(*directory);
  const Exit exit = finish(*record, options, *directory);
  if (exit == Exit::ok && level == "smoke")
    fmt::print(stderr,
               "this was the level `smoke`; `ci/lockstep run --level all` runs every case\n");
  return exit;
}

}  // namespace lockstep
