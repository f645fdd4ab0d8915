#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockstep {
namespace {

/// Closes a descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A page behind the end of a mapping, never touched: two mappings exactly 256 MiB apart, as two
// tensors of 2^26 float32 would be, share cache sets, and reading both takes twice as long.
constexpr std::size_t kPadding = 4096;

std::string why() { return std::strerror(errno); }

}  // namespace

Result<std::string> read_file(const std::filesystem::path& path) {
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return fail(fmt::format("cannot read {}: {}", path.string(), why()));
  std::string text;
  char buffer[1 << 16];
  while (true) {
    const ssize_t count = ::read(fd.get(), buffer, sizeof buffer);
    if (count == 0) return text;
    if (count < 0) {
      if (errno == EINTR) continue;
      return fail(fmt::format("cannot read {}: {}", path.string(), why()));
    }
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

Result<void> write_file(const std::filesystem::path& path, std::string_view bytes) {
  const std::string temporary = fmt::format("{}.{}.tmp", path.string(), ::getpid());
  {
    const Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (fd.get() < 0) return fail(fmt::format("cannot write {}: {}", path.string(), why()));
    while (!bytes.empty()) {
      const ssize_t count = ::write(fd.get(), bytes.data(), bytes.size());
      if (count < 0) {
        if (errno == EINTR) continue;
        const std::string reason = why();
        ::unlink(temporary.c_str());
        return fail(fmt::format("cannot write {}: {}", path.string(), reason));
      }
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const std::string reason = why();
    ::unlink(temporary.c_str());
    return fail(fmt::format("cannot write {}: {}", path.string(), reason));
  }
  return {};
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: a named pipe in place of a file must not hang the runner.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd.get() < 0) return fail(fmt::format("cannot map {}: {}", path.string(), why()));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0)
    return fail(fmt::format("cannot map {}: {}", path.string(), why()));
  if (!S_ISREG(status.st_mode))
    return fail(fmt::format("cannot map {}: it is no regular file", path.string()));
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = ::mmap(nullptr, size + kPadding, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED) return fail(fmt::format("cannot map {}: {}", path.string(), why()));
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_ + kPadding);
}

}  // namespace lockstep
