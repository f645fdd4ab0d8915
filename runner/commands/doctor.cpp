#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <thread>

#include "base/cpu.h"
#include "base/files.h"
#include "base/launcher.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/doctor_findings.h"
#include "commands/errors.h"
#include "engine/scratch.h"
#include "record/machine.h"
#include "requests/open.h"
#include "run/absent_paths.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Prints findings one by one and remembers the worst.
class Chart {
 public:
  void say(Health health, std::string_view subject, const std::string& finding,
           const std::string& remedy = "") {
    say({health, std::string(subject), finding, health == Health::good ? "" : remedy});
  }
  void say(const DoctorFinding& said) {
    constexpr std::string_view kMarks[] = {"ok", "-", "warn", "FAIL"};
    print_people(stdout,
                 fmt::format("{:<5} {:<13} {}\n", kMarks[static_cast<std::size_t>(said.health)],
                             said.subject, one_line(said.finding, 400)));
    if (!said.remedy.empty())
      print_people(stdout, fmt::format("{:20}remedy: {}\n", "", said.remedy));
    std::fflush(stdout);
    ++counts_[static_cast<std::size_t>(said.health)];
  }
  std::size_t count(Health health) const { return counts_[static_cast<std::size_t>(health)]; }

 private:
  std::size_t counts_[4] = {};
};

std::string size_text(double bytes) {
  if (bytes >= 1 << 30) return fmt::format("{:.1f} GiB", bytes / (1 << 30));
  return fmt::format("{:.0f} MiB", bytes / (1 << 20));
}

/// Free and whole bytes of the file system of the nearest folder that exists.
std::pair<double, double> space_of(fs::path path) {
  std::error_code error;
  path = fs::absolute(path, error);
  while (!path.empty() && !fs::exists(path, error) && path != path.parent_path())
    path = path.parent_path();
  struct statvfs space {};
  if (::statvfs(path.c_str(), &space) != 0) return {0, 0};
  const auto block = static_cast<double>(space.f_frsize);
  return {block * static_cast<double>(space.f_bavail), block * static_cast<double>(space.f_blocks)};
}

double size_of(const fs::path& folder) {
  double bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unreadable;
    if (!it->is_symlink(unreadable) && it->is_regular_file(unreadable)) {
      const auto size = it->file_size(unreadable);
      if (!unreadable) bytes += static_cast<double>(size);
    }
  }
  return bytes;
}

/// The first line of a command's standard output, with standard error hidden; empty on failure.
std::string first_line_of(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  if (::pclose(pipe) != 0) return "";
  return text.substr(0, text.find('\n'));
}

// Says where things are without importing torch, which would take seconds.
constexpr const char* kAsk = R"(
import importlib.util, json, os, platform, re, shutil, sys, sysconfig
spec = importlib.util.find_spec("torch")
version = None
if spec and spec.origin:
    try:
        found = re.search(r"__version__ = '([^']*)'", open(os.path.join(os.path.dirname(spec.origin), "version.py")).read())
        version = found and found.group(1)
    except OSError:
        pass
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
print(json.dumps({"python": platform.python_version(), "executable": sys.executable, "torch": version,
                  "torch_at": os.path.dirname(spec.origin) if spec and spec.origin else None,
                  "header": header, "has_header": os.path.exists(header)})))";

/// What Inductor compiles with.
void examine_compiler(Chart& chart) {
  const char* chosen = std::getenv("CXX");
  std::string compiler = chosen != nullptr && *chosen != '\0' ? chosen : "g++";
  std::string line = first_line_of(compiler + " --version");
  if (line.empty() && chosen == nullptr)
    line = first_line_of((compiler = "clang++") + " --version");
  if (line.empty()) {
    chart.say(Health::bad, "compiler",
              fmt::format("`{}` does not run, and Inductor compiles with it",
                          chosen != nullptr ? chosen : "g++"),
              "install g++, or set CXX to a C++ compiler");
  } else {
    chart.say(Health::good, "compiler", fmt::format("{}: {}", compiler, line));
  }
}

/// Python, its torch and what Inductor needs to compile; the version of that torch.
std::string examine_python(const std::string& python, Chart& chart) {
  const std::string answer = first_line_of(shell_quote(python) + " -c " + shell_quote(kAsk));
  const Json found = Json::parse(answer, nullptr, false);
  if (!found.is_object()) {
    chart.say(Health::bad, "python", fmt::format("`{}` does not run", python),
              "set LOCKSTEP_PYTHON to a Python 3 that has torch");
    return "";
  }
  chart.say(Health::good, "python",
            fmt::format("{} at {}", found.value("python", ""), found.value("executable", "")));
  std::string version = found["torch"].is_string() ? found["torch"].get<std::string>() : "";
  if (found["torch_at"].is_string()) {
    chart.say(Health::good, "torch",
              fmt::format("{} in {}", version.empty() ? "unknown version" : version,
                          found["torch_at"].get<std::string>()));
  } else {
    chart.say(Health::bad, "torch", "this Python has none",
              "install torch there, or set LOCKSTEP_PYTHON to another Python");
  }
  if (found.value("has_header", false)) {
    chart.say(Health::good, "Python.h", found.value("header", ""));
  } else {
    chart.say(Health::bad, "Python.h",
              found.value("header", "") + " is missing, and Inductor's wrapper needs it",
              "install the development package of this Python, such as python3-dev");
  }
  examine_compiler(chart);
  return version;
}

void examine_suite(Session& session, Chart& chart) {
  Diagnostics diagnostics;
  if (auto read = session.read_suite(diagnostics); !read) {
    chart.say(Health::bad, "suite", read.error().message,
              "name the folder that holds cases/ and expected/ with --suite or LOCKSTEP_HOME");
    return;
  }
  if (!diagnostics.empty()) {
    chart.say(
        Health::bad, "suite",
        fmt::format("{} errors, the first: {}", diagnostics.size(), to_string(diagnostics.front())),
        typed("check") + " prints them all");
  } else {
    chart.say(
        Health::good, "suite",
        fmt::format("{} cases, {} paths in {}", session.suite().cases.size(),
                    session.suite().paths.size(), fs::absolute(session.settings().root).string()));
  }
}

void examine_cache(const fs::path& given, Chart& chart) {
  std::error_code error;
  const fs::path cache = fs::absolute(given, error);
  fs::create_directories(cache, error);
  if (::access(cache.c_str(), W_OK | X_OK) != 0) {
    chart.say(Health::bad, "cache", cache.string() + " cannot be written",
              "LOCKSTEP_CACHE names another folder");
  } else {
    chart.say(Health::good, "cache",
              fmt::format("{}: {}, of which compiled kernels {} and runs {}", cache.string(),
                          size_text(size_of(cache)), size_text(size_of(cache / "inductor")),
                          size_text(size_of(cache / "runs"))));
  }
  const auto [free, whole] = space_of(cache);
  chart.say(free < (100 << 20)                ? Health::bad
            : free < 1024.0 * 1024.0 * 1024.0 ? Health::poor
                                              : Health::good,
            "disk", fmt::format("{} free of {}", size_text(free), size_text(whole)),
            "free some, remove old runs from the cache, or set LOCKSTEP_CACHE to another disk");
}

void examine_scratch(Chart& chart) {
  auto scratch = Scratch::create();
  if (!scratch) {
    chart.say(Health::bad, "scratch", scratch.error().message, scratch.error().hint);
  } else {
    const auto [shared, all] = space_of(scratch->path());
    chart.say(shared < (256 << 20) ? Health::poor : Health::good, "scratch",
              fmt::format("{}: {} free of {}", scratch->path().parent_path().string(),
                          size_text(shared), size_text(all)),
              "tensors pass through it: give the container more, such as --shm-size=2g");
  }
}

void examine_machine(Chart& chart) {
  double available = 0;
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (double value = 0; file >> key >> value; std::getline(file, unit)) {
    if (key == "MemAvailable:") available = value * 1024;
  }
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  // An execution that compiles takes about half a GiB, and there are three for two cores.
  const double wanted = 0.75 * (1 << 30) * cores + (1 << 30);
  chart.say(available < wanted ? Health::poor : Health::good, "memory",
            fmt::format("{} available of {}, {} cores", size_text(available),
                        size_text(static_cast<double>(physical_memory())), cores),
            "fewer executions at a time need less: -j 1");
  chart.say(Health::good, "processor",
            fmt::format("{} ({})", cpu_line("model name"), fmt::join(cpu_features(), " ")));
}

/// CUDA's devices as its runtime tells them, and what compares tensors there.
void examine_cuda(const SessionSettings& settings, const CudaInventory& found, Chart& chart) {
  if (!found.lacking.empty()) {
    chart.say(Health::good, "cuda", fmt::format("no device: {} ({})", found.lacking, found.remedy));
    return;
  }
  chart.say(Health::good, "cuda", describe_versions(found));
  for (const CudaDevice& device : found.devices) {
    std::string text = describe(device);
    if (device.fault.empty())
      text += fmt::format(", {} free", size_text(static_cast<double>(device.free_bytes)));
    chart.say(device.fault.empty() ? Health::good : Health::poor,
              fmt::format("cuda:{}", device.index), text,
              "another process may have all of it: `nvidia-smi` lists them");
  }
  const auto digests = settings.digests.find("cuda");
  const bool there = digests != settings.digests.end();
  chart.say(
      there ? Health::good : Health::poor, "digests",
      there ? "tensors are compared on the device first, by " + digests->second.string()
            : "every tensor is copied to the host and compared there",
      "build with a CUDA toolkit (LOCKSTEP_WITH_CUDA); LOCKSTEP_DIGESTS names what was built");
}

/// Starts every worker that the paths need and says what it answers.
void examine_paths(Session& session, Chart& chart) {
  if (const auto met = session.meet_torch(); !met)
    return chart.say(Health::bad, "operators", met.error().message, met.error().hint);
  const std::vector<Path>& paths = session.suite().paths;
  fmt::print(stderr, "starting the workers of {} paths; the first time takes a minute\n",
             paths.size());
  const auto absent = find_absent_paths(session.engine(), paths, session.cpu_levels(),
                                        [&](const Path& path) { return session.worker(path); });
  if (!absent) return;  // interrupted
  for (const Path& path : paths) {
    PathState state;
    for (const AbsentPath& each : *absent) {
      if (each.name == path.name) state.absent = each.reason;
    }
    if (lacking_cpu_level(path, session.cpu_levels()).empty()) {
      const auto answer = session.wait_for(session.worker(path));
      if (interrupted()) return;
      if (!answer) state.failure = answer.error().message;
    }
    chart.say(finding_of_path(path, state, session.devices()));
  }
}

/// Whether there is an eager worker that can be asked, with the libraries that are wanted.
bool examine_executable(Session& session, Chart& chart) {
  const fs::path& executable = session.settings().eager;
  if (::access(executable.c_str(), X_OK) != 0) {
    chart.say(Health::bad, "eager", executable.string() + " is missing",
              "a run builds it; LOCKSTEP_EAGER names another");
    return false;
  }
  if (auto read = read_operators(session); !read) {
    tell(read.error());
    chart.say(Health::bad, "library", "an operator library cannot be loaded",
              "see above; or leave --library out");
    return false;
  }
  return session.start(fs::path()).has_value();  // of the scratch directory it was said
}

/// What the eager worker says of itself; nothing: it cannot be used.
std::optional<Json> examine_eager(Session& session, const std::string& python_torch, Chart& chart) {
  auto hello = session.wait_for(session.eager());
  if (!hello) {
    const bool symbols = hello.error().message.find("symbol") != std::string::npos ||
                         hello.error().message.find("shared librar") != std::string::npos;
    chart.say(Health::bad, "eager", hello.error().message,
              symbols ? "it was built for another torch: remove eager/ in the cache, and a run "
                        "builds it again"
                      : "see above");
    return std::nullopt;
  }
  const Json environment = hello->value("environment", Json::object());
  const std::string torch = environment.value("torch", std::string());
  const bool same = python_torch.empty() || torch == python_torch;
  chart.say(same ? Health::good : Health::bad, "eager",
            fmt::format("runs with torch {} ({}){}", torch,
                        environment.value("cpu_capability", std::string("no level")),
                        same ? "" : fmt::format(", Python has {}", python_torch)),
            "both must have the same torch: remove eager/ in the cache, and a run builds it again");
  return std::move(*hello);
}

void examine_operators(const Registry* operators, const std::string& operators_digest,
                       Chart& chart) {
  const bool fits = operators != nullptr && operators->operators_digest() == operators_digest;
  chart.say(fits ? Health::good : Health::poor, "operators",
            operators == nullptr ? "there is no dump of their schemas"
            : fits               ? "the dump of their schemas is of this torch"
                   : fmt::format("the dump of their schemas is of torch {}", operators->torch()),
            "the first run makes it; until then list, show and check know less");
}

/// CUDA's devices where no eager worker says which runtime torch has.
void examine_cuda_alone(const SessionSettings& settings, Chart& chart) {
  const fs::path runtime = cuda_runtime_of(settings, Json::object());
  examine_cuda(settings, cuda_inventory({.runtime = runtime}), chart);
}

/// The eager worker, and the operators and devices of its torch. `deep` builds a missing worker,
/// and tries every path.
void examine_workers(Session& session, const std::string& python_torch, bool deep, Chart& chart) {
  std::error_code error;
  const SessionSettings& settings = session.settings();
  if (!settings.provider.empty() && !fs::exists(settings.eager, error)) {
    if (!deep) {
      chart.say({Health::absent, "eager",
                 "not built yet for this torch: the first run does it, in about a minute", ""});
      return examine_cuda_alone(settings, chart);
    }
    (void)provide_eager(settings);  // what is wrong then is said where it is missed
  }
  if (!examine_executable(session, chart)) return examine_cuda_alone(settings, chart);
  const auto hello = examine_eager(session, python_torch, chart);
  if (!hello) return;
  const Json environment = hello->value("environment", Json::object());
  examine_operators(session.operators(), environment.value("operators_digest", std::string()),
                    chart);
  const CudaInventory cuda =
      cuda_inventory({.runtime = cuda_runtime_of(session.settings(), environment)});
  Json machine = Json::object();
  add_cuda(machine, cuda);
  for (const DoctorFinding& finding : findings_of_devices(*hello, machine, session.suite().paths))
    chart.say(finding);
  examine_cuda(session.settings(), cuda, chart);
  if (deep)
    examine_paths(session, chart);
  else
    chart.say({Health::absent, "paths",
               fmt::format("{} were not tried: {} starts the workers of each",
                           session.suite().paths.size(), typed("doctor --deep")),
               ""});
}

}  // namespace

Exit command_doctor(const DoctorOptions& options) {
  watch_for_interrupts();
  Chart chart;
  chart.say(Health::good, "lockstep", LOCKSTEP_VERSION);
  SessionSettings settings = session_settings(options.basis);
  settings.pace.jobs = 1;
  Session session(std::move(settings));
  examine_suite(session, chart);
  const std::string torch = examine_python(options.basis.at.python, chart);
  examine_cache(options.basis.at.cache, chart);
  examine_scratch(chart);
  examine_machine(chart);
  examine_workers(session, torch, options.deep, chart);
  if (interrupted()) return Exit::interrupted;
  const std::size_t bad = chart.count(Health::bad), poor = chart.count(Health::poor);
  fmt::print("\n{}\n", bad > 0    ? fmt::format("{} to mend before a run", bad)
                       : poor > 0 ? fmt::format("fit to run, with {} to look at", poor)
                                  : "fit to run");
  return bad > 0 ? Exit::internal : Exit::ok;
}

}  // namespace lockstep
