#include "base/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
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

/// Starts it and waits: the status as waitpid has it.
static Result<int> wait_status_of(const Spawn& spawn) {
  std::vector<std::string> argv = spawn.argv, variables = environment_of(spawn);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const std::string input = spawn.input.empty() ? "/dev/null" : spawn.input.string();
  constexpr int kAnew = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&files, 0, input.c_str(), O_RDONLY, 0);
  if (spawn.output_to >= 0)
    posix_spawn_file_actions_adddup2(&files, spawn.output_to, 1);
  else
    posix_spawn_file_actions_addopen(&files, 1, spawn.output.c_str(), kAnew, 0600);
  if (!spawn.errors.empty())
    posix_spawn_file_actions_addopen(&files, 2, spawn.errors.c_str(), kAnew, 0600);
  if (!spawn.directory.empty())
    posix_spawn_file_actions_addchdir_np(&files, spawn.directory.c_str());
  pid_t child = -1;
  const int failed = ::posix_spawnp(&child, argv.front().c_str(), &files, nullptr,
                                    pointers(argv).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    return fail(fmt::format("cannot start {}: {}", spawn.argv.front(), std::strerror(failed)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Result<int> exit_status_of(const Spawn& spawn) {
  auto status = wait_status_of(spawn);
  if (!status) return status;
  return WIFEXITED(*status) ? WEXITSTATUS(*status) : 128 + WTERMSIG(*status);
}

Result<Printed> printed_by(Spawn spawn, std::size_t most) {
  const int file = ::memfd_create("printed", MFD_CLOEXEC);
  if (file < 0) return fail(fmt::format("there is no memory file: {}", std::strerror(errno)));
  spawn.output_to = file;
  const auto status = exit_status_of(spawn);
  Printed printed{status.value_or(0), {}};
  std::string buffer(65536, '\0');
  off_t at = 0;
  for (ssize_t count = 0; (count = ::pread(file, buffer.data(), buffer.size(), at)) > 0;) {
    printed.text.append(buffer, 0, static_cast<std::size_t>(count));
    at += count;
    if (printed.text.size() > most) break;
  }
  ::close(file);
  if (!status) return tl::unexpected(status.error());
  if (printed.text.size() > most)
    return fail(fmt::format("{} prints more than {} bytes", spawn.argv.front(), grouped(most)));
  return printed;
}

Result<void> run_to_end(const Spawn& spawn) {
  const auto ended = wait_status_of(spawn);
  if (!ended) return tl::unexpected(ended.error());
  const int status = *ended;
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
