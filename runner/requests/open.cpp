#include "requests/open.h"

#include <fmt/format.h>

#include <sstream>

#include "base/launcher.h"
#include "base/spawn.h"
#include "engine/warm.h"
#include "requests/own_cases.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// A file beside the running binary: lockstep-eager, schemas.json.
fs::path beside_binary(std::string_view name) {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path() / name;
}

/// The operator schemas of the torch that this eager worker links: beside it, or, where it has
/// none and none will be `provided`, beside the binary.
fs::path schemas_of(const fs::path& eager, bool provided) {
  std::error_code error;
  fs::path own = eager.parent_path() / "schemas.json";
  return provided || fs::exists(own, error) ? own : beside_binary("schemas.json");
}

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

}  // namespace

SessionSettings session_settings(const Basis& basis) {
  const Surroundings& at = basis.at;
  SessionSettings settings;
  settings.home = at.home;
  settings.root = at.suite;
  settings.files = basis.files;
  settings.files.case_files = own_cases(basis);
  settings.launcher = at.launcher;
  settings.eager = at.eager.empty() ? beside_binary("lockstep-eager") : at.eager;
  settings.schemas = schemas_of(settings.eager, !at.provider.empty());
  settings.provider = at.provider;
  settings.cuda_runtime = at.cudart;
  settings.digests = digest_libraries(at.digests);
  settings.python = at.python;
  // What registers devices or operators belongs before the warm-up, which a resident one has behind
  // it: autograd counts devices once.
  const bool registers = !basis.files.libraries.empty() || !basis.files.modules.empty();
  if (!registers && has_resident(at.residents)) settings.residents = at.residents;
  settings.devices = basis.choice.devices;
  settings.pace = basis.pace;
  if (!basis.no_cache) settings.compiler_cache = fs::absolute(at.cache) / "inductor";
  return settings;
}

Answer<void> provide_eager(const SessionSettings& settings) {
  std::error_code error;
  if (settings.provider.empty() || fs::exists(settings.eager, error)) return {};
  const Spawn provider{{settings.python, settings.provider.string()}, {}, {}, "/dev/null", {}};
  if (run_to_end(provider) && fs::exists(settings.eager, error)) return {};
  return tl::unexpected<Failure>(Failure{Exit::internal, {}, {}});
}

Answer<void> read_operators(Session& session) {
  for (const fs::path& library : session.settings().files.libraries) {
    std::error_code error;
    if (fs::is_regular_file(library, error)) continue;
    return refuse(Exit::usage,
                  {fmt::format("found --library {}, expected a file that exists", library.string()),
                   "it names the shared object (.so) that a build of your operators makes"});
  }
  for (const std::string& module : session.settings().files.modules) {
    std::error_code error;
    if (!module.ends_with(".py") || fs::is_regular_file(module, error)) continue;
    return refuse(Exit::usage,
                  {fmt::format("found --module {}, expected a file that exists", module),
                   "it names a Python file, or a module that Python finds: mylib.ops"});
  }
  if (auto read = session.read_operators(); !read) return refuse(Exit::internal, read.error());
  return {};
}

Answer<void> need_operators(const Session& session) {
  if (session.operators() != nullptr) return {};
  return refuse(Exit::internal, {"there is no dump of the operator schemas beside this binary",
                                 "the first run makes it; a build without torch has none"});
}

Answer<Session> open_session(SessionSettings settings, Torch torch) {
  Session session(std::move(settings));
  session.expect_operators();
  Diagnostics diagnostics;
  if (auto read = session.read_suite(diagnostics); !read) return refuse(Exit::usage, read.error());
  if (!diagnostics.empty()) return refuse(std::move(diagnostics));
  if (torch == Torch::needed) {
    if (auto there = provide_eager(session.settings()); !there)
      return tl::unexpected(there.error());
  }
  if (auto read = read_operators(session); !read) return tl::unexpected(read.error());
  session.expand();
  return session;
}

Answer<Session> open_session(const Basis& basis, Torch torch) {
  return open_session(session_settings(basis), torch);
}

Answer<void> start(Session& session, const Filter& filter, const fs::path& logs,
                   const Means& means) {
  auto ready = means.engine ? session.start_on(means.engine()) : session.start(logs);
  if (ready) {
    session.engine().on_note = means.note;
    session.warm_up(filter);
    session.engine().on_note = nullptr;
    ready = session.meet_torch();
  }
  if (ready) return {};
  if (interrupted()) return tl::unexpected<Failure>(Failure{Exit::interrupted, {}, {}});
  return refuse(Exit::internal, ready.error());
}

}  // namespace lockstep
