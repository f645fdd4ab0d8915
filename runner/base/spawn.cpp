#include "base/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"
#include "base/text.h"

extern char** environ;

namespace lockstep {
namespace {

/// Our own environment with some variables set anew.
std::vector<std::string> environment_of(const Spawn& spawn) {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view variable = *each;
    bool replaced = false;
    for (const auto& [name, value] : spawn.environment)
      replaced |= variable.starts_with(name + "=");
    if (!replaced) variables.emplace_back(variable);
  }
  for (const auto& [name, value] : spawn.environment) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

Result<void> run_to_end(const Spawn& spawn) {
  std::vector<std::string> argv = spawn.argv, variables = environment_of(spawn);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const std::string input = spawn.input.empty() ? "/dev/null" : spawn.input.string();
  constexpr int kAnew = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, 0, input.c_str(), O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, spawn.output.c_str(), kAnew, 0600);
  if (!spawn.errors.empty())
    posix_spawn_file_actions_addopen(&files, 2, spawn.errors.c_str(), kAnew, 0600);
  pid_t child = -1;
  const int failed = ::posix_spawnp(&child, argv.front().c_str(), &files, nullptr,
                                    pointers(argv).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    return fail(fmt::format("cannot start {}: {}", spawn.argv.front(), std::strerror(failed)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  std::string said = spawn.errors.empty() ? "" : read_file(spawn.errors).value_or("");
  said.erase(said.find_last_not_of(" \n") + 1);
  return fail(one_line(said.empty()
                           ? fmt::format("{} says nothing and {} {}", spawn.argv.front(),
                                         WIFEXITED(status) ? "exits with" : "is killed by",
                                         WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status))
                           : said.substr(said.size() > 1000 ? said.size() - 1000 : 0)));
}

}  // namespace lockstep
