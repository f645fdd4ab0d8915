#include "commands/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <thread>

#include "commands/errors.h"
#include "commands/own_cases.h"
#include "run/pack.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// A file beside the running binary: lockstep-eager, schemas.json.
fs::path beside_binary(std::string_view name) {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path() / name;
}

/// Packages that one child of the eager worker executes: a fork costs as much as several of them.
constexpr int kReplayBatch = 32;

/// Of LOCKSTEP_DIGESTS and beside the binary, by the kind of a device: what digests storages there.
std::map<std::string, fs::path> digest_libraries(const std::string& given) {
  std::map<std::string, fs::path> found;
  std::error_code error;
  if (fs::path cuda = beside_binary("lockstep-digests-cuda.so"); fs::exists(cuda, error))
    found["cuda"] = std::move(cuda);
  std::istringstream entries(given);
  for (std::string entry; std::getline(entries, entry, ':');) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    found.erase(entry.substr(0, equals));
    if (equals + 1 < entry.size())
      found[entry.substr(0, equals)] = fs::absolute(entry.substr(equals + 1));
  }
  return found;
}

/// Three executions for two cores: one of three waits for the C++ compiler that it started.
std::size_t default_jobs() {
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  return cores + cores / 2;
}

}  // namespace

SessionSettings session_settings(const Options& options) {
  SessionSettings settings;
  settings.home = options.home;
  settings.root = options.suite;
  settings.case_files = own_cases(options);
  settings.path_files = options.path_files;
  settings.known_files = options.known_files;
  settings.launcher = options.launcher;
  settings.expectations = !options.no_expectations;
  settings.libraries = options.libraries;
  settings.schemas = beside_binary("schemas.json");
  settings.eager = options.eager.empty() ? beside_binary("lockstep-eager") : options.eager;
  settings.cuda_runtime = options.cudart;
  settings.digests = digest_libraries(options.digests);
  settings.python = options.python;
  settings.devices = options.devices;
  settings.jobs = options.jobs > 0 ? options.jobs : default_jobs();
  settings.limits.compile = options.compile_timeout;
  settings.limits.other = options.timeout;
  settings.threads = options.threads;
  if (options.memory_gib > 0)
    settings.memory_bytes = static_cast<std::int64_t>(options.memory_gib * (1 << 30));
  if (options.command == "pack") settings.keep = options.pack / kKeptJobs;
  if (options.command == "replay") {
    settings.kept = options.pack / kKeptJobs;
    settings.schemas = options.pack / "schemas.json";
    settings.eager_batch = options.alone ? 1 : kReplayBatch;
  }
  if (!options.no_cache) settings.compiler_cache = fs::absolute(options.cache) / "inductor";
  return settings;
}

tl::expected<void, Exit> read_operators(Session& session) {
  for (const fs::path& library : session.settings().libraries) {
    std::error_code error;
    if (fs::is_regular_file(library, error)) continue;
    print_error({fmt::format("found --library {}, expected a file that exists", library.string()),
                 "it names the shared object (.so) that a build of your operators makes"});
    return tl::unexpected(Exit::usage);
  }
  if (auto read = session.read_operators(); !read) {
    print_error(read.error());
    return tl::unexpected(Exit::internal);
  }
  return {};
}

tl::expected<void, Exit> need_operators(const Session& session) {
  if (session.operators() != nullptr) return {};
  print_error({"there is no dump of the operator schemas beside this binary",
               "`ci/lockstep` builds it; a build without torch has none"});
  return tl::unexpected(Exit::internal);
}

tl::expected<Session, Exit> open_session(const Options& options) {
  Session session(session_settings(options));
  Diagnostics diagnostics;
  if (auto read = session.read_suite(diagnostics); !read) {
    print_error(read.error());
    return tl::unexpected(Exit::usage);
  }
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return tl::unexpected(Exit::usage);
  }
  if (auto read = read_operators(session); !read) return tl::unexpected(read.error());
  session.expand();
  return session;
}

}  // namespace lockstep
