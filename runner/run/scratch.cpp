#include "run/scratch.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string>

namespace lockstep {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "lockstep-";
// Containers often have a /dev/shm of 64 MiB, too small for the tensors of several instances.
constexpr std::uintmax_t kLeastRoom = std::uintmax_t{256} << 20;

fs::path base() {
  std::error_code error;
  const fs::path memory = "/dev/shm";
  const fs::space_info room = fs::space(memory, error);
  if (!error && room.available >= kLeastRoom && ::access(memory.c_str(), W_OK) == 0) return memory;
  return fs::temp_directory_path(error);
}

/// Removes the directories of processes that are no more: their names begin with the process's
/// number.
void remove_left_over(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    int pid = 0;
    const auto [end, fault] =
        std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), pid);
    if (fault != std::errc{} || *end != '-' || pid <= 0) continue;
    if (::kill(pid, 0) != 0 && errno == ESRCH) fs::remove_all(entry.path(), error);
  }
}

}  // namespace

Result<Scratch> Scratch::create() {
  const fs::path folder = base();
  remove_left_over(folder);
  std::string name = (folder / fmt::format("{}{}-XXXXXX", kPrefix, ::getpid())).string();
  if (::mkdtemp(name.data()) == nullptr) {
    return fail(fmt::format("cannot make a directory for tensors in {}: {}", folder.string(),
                            std::strerror(errno)),
                "set TMPDIR to a directory that can be written");
  }
  return Scratch(name);
}

Scratch::~Scratch() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
}

}  // namespace lockstep
