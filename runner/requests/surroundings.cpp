#include "requests/surroundings.h"

#include <cstdlib>

#include "base/launcher.h"

namespace lockstep {
namespace fs = std::filesystem;

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Surroundings surroundings_of_environment(fs::path directory) {
  Surroundings at;
  at.directory = std::move(directory);
  at.home = environment_variable("LOCKSTEP_HOME");
  at.launcher = environment_variable("LOCKSTEP_COMMAND");
  at.python = environment_variable("LOCKSTEP_PYTHON");
  at.cache = environment_variable("LOCKSTEP_CACHE");
  at.eager = environment_variable("LOCKSTEP_EAGER");
  at.provider = environment_variable("LOCKSTEP_PROVIDER");
  at.cudart = environment_variable("LOCKSTEP_CUDART");
  at.digests = environment_variable("LOCKSTEP_DIGESTS");
  at.in_github = environment_variable("GITHUB_ACTIONS") == "true";
  return at;
}

fs::path resident_folder(const Surroundings& at) { return fs::absolute(at.cache) / "residents"; }

void complete(Surroundings& at) {
  at.own_suite = !at.suite.empty();
  if (at.home.empty()) at.home = at.suite.empty() ? "." : at.suite;
  if (at.suite.empty()) at.suite = at.home;
  if (at.launcher.empty()) at.launcher = launcher();
  if (at.cache.empty()) at.cache = at.home / ".lockstep";
  if (at.python.empty()) at.python = "python3";
  if (environment_variable("CI").empty()) at.residents = resident_folder(at);
  std::error_code error;
  at.runs = at.directory / ".lockstep" / "runs";
  if (!fs::is_directory(at.runs, error)) at.runs = at.cache / "runs";
}

}  // namespace lockstep
