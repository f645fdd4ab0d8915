#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lockstep {
namespace {

/// Closes a descriptor at the end of a scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
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

// Smaller files are copied instead of mapped: that costs no more, and is safe from their writers.
constexpr std::size_t kSmallestMapped = 1 << 20;

std::string why() { return std::strerror(errno); }

/// A regular file, opened to be read, and its size.
struct Regular {
  Descriptor fd;
  std::size_t size = 0;
};

Result<Regular> open_regular(const std::filesystem::path& path) {
  // O_NONBLOCK: a named pipe in place of a file must not hang the runner.
  Regular file{Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK))};
  struct stat status {};
  if (file.fd.get() < 0 || ::fstat(file.fd.get(), &status) != 0)
    return fail(fmt::format("cannot read {}: {}", path.string(), why()));
  if (!S_ISREG(status.st_mode))
    return fail(fmt::format("cannot read {}: it is no regular file", path.string()));
  file.size = static_cast<std::size_t>(status.st_size);
  return file;
}

/// Reads `size` bytes from `offset`, or as many as there are; how many, or -1.
ssize_t read_at(const Descriptor& fd, char* to, std::size_t size, std::size_t offset) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count =
        ::pread(fd.get(), to + done, size - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return static_cast<ssize_t>(done);
}

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

Result<FileEnd> read_end_of_file(const std::filesystem::path& path, std::size_t most) {
  const auto file = open_regular(path);
  if (!file) return tl::unexpected(file.error());
  FileEnd end{std::string(std::min(file->size, most), '\0'), file->size > most};
  const ssize_t count =
      read_at(file->fd, end.bytes.data(), end.bytes.size(), file->size - end.bytes.size());
  if (count < 0) return fail(fmt::format("cannot read {}: {}", path.string(), why()));
  end.bytes.resize(static_cast<std::size_t>(count));
  return end;
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
  const auto file = open_regular(path);
  if (!file) return tl::unexpected(file.error());
  const std::size_t size = file->size;
  const bool small = size < kSmallestMapped;
  void* data = nullptr;
  if (size > 0) {
    data =
        ::mmap(nullptr, size + kPadding, small ? PROT_READ | PROT_WRITE : PROT_READ,
               small ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, small ? -1 : file->fd.get(), 0);
    if (data == MAP_FAILED) return fail(fmt::format("cannot map {}: {}", path.string(), why()));
  }
  if (small && read_at(file->fd, static_cast<char*>(data), size, 0) != static_cast<ssize_t>(size)) {
    ::munmap(data, size + kPadding);
    return fail(fmt::format("cannot read {}: it is being changed", path.string()));
  }
  return std::shared_ptr<const MappedFile>(
      new MappedFile(static_cast<const std::byte*>(data), size));
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_ + kPadding);
}

}  // namespace lockstep
