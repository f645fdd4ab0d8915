#include "engine/scratch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
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
  fs::path memory = "/dev/shm";
  const fs::space_info room = fs::space(memory, error);
  if (!error && room.available >= kLeastRoom && ::access(memory.c_str(), W_OK) == 0) return memory;
  return fs::temp_directory_path(error);
}

/// A descriptor that holds the lock of a directory until it is closed; -1 where it cannot be had.
int lock(const fs::path& directory, int wait) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0 || ::flock(fd, LOCK_EX | wait) == 0) return fd;
  ::close(fd);
  return -1;
}

/// Removes the directories of runs that are no more.  Their lock tells, not the number of a process
/// in their name: containers may share the directory without sharing processes.
void remove_left_over(const fs::path& folder) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    int pid = 0;
    const auto [end, fault] =
        std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), pid);
    if (fault != std::errc{} || *end != '-' || pid <= 0) continue;
    const int held = lock(entry.path(), LOCK_NB);
    if (held < 0) continue;  // it is used, or another user's
    fs::remove_all(entry.path(), error);
    ::close(held);
  }
}

}  // namespace

Result<Scratch> Scratch::create() {
  const fs::path folder = base();
  remove_left_over(folder);
  for (;;) {
    std::string name = (folder / fmt::format("{}{}-XXXXXX", kPrefix, ::getpid())).string();
    if (::mkdtemp(name.data()) == nullptr) {
      return fail(fmt::format("cannot make a directory for tensors in {}: {}", folder.string(),
                              std::strerror(errno)),
                  "set TMPDIR to a directory that can be written");
    }
    Scratch scratch(name, lock(name, 0));
    // Unless another run has taken it for left over, before it was locked.
    if (::access(name.c_str(), F_OK) == 0) return scratch;
  }
}

Scratch::~Scratch() {
  std::error_code error;
  if (!path_.empty()) fs::remove_all(path_, error);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace lockstep
