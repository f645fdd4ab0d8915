#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/text.h"

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
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// A page behind the end of a large copy, never touched: two exactly 256 MiB apart, as two tensors
// of 2^26 float32 would be, share cache sets, and reading both takes twice as long.
constexpr std::size_t kPadding = 4096;

// Larger copies have pages of their own, so that holes cost no memory; smaller ones are of the
// heap, for a process may have only so many mappings.
constexpr std::size_t kSmallestLarge = 1 << 20;

std::string why() { return std::strerror(errno); }

/// A name in a message: one line, whatever it has.
std::string shown(const std::filesystem::path& path) { return one_line(path.string(), PATH_MAX); }

/// A regular file, opened to be read, and its size.
struct Regular {
  Descriptor fd;
  std::size_t size = 0;
  std::size_t allocated = 0;  ///< bytes that are not in holes
};

/// What was opened, if it is a regular file; `name` is how errors call it.
Result<Regular> regular(Descriptor fd, const std::string& name) {
  Regular file{std::move(fd)};
  struct stat status {};
  if (file.fd.get() < 0 || ::fstat(file.fd.get(), &status) != 0)
    return fail(fmt::format("cannot read {}: {}", name, why()));
  if (!S_ISREG(status.st_mode))
    return fail(fmt::format("cannot read {}: it is no regular file", name));
  file.size = static_cast<std::size_t>(status.st_size);
  file.allocated = static_cast<std::size_t>(status.st_blocks) * 512;
  return file;
}

/// `follow`: whether a symbolic link is what it leads to, or no regular file.
Result<Regular> open_regular(const std::filesystem::path& path, bool follow = false) {
  // O_NONBLOCK: a named pipe in place of a file must not hang the runner.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW);
  const std::string name = shown(path);  // before the file is opened: errno is what that says
  return regular(Descriptor(::open(path.c_str(), flags)), name);
}

tl::unexpected<Error> too_large(const std::string& name, std::string_view found, std::size_t most) {
  return fail(fmt::format("cannot read {}: it has {} bytes, at most {} may be read", name, found,
                          grouped(most)),
              "nothing that Lockstep writes or needs is as large: ask where it comes from");
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

/// Reads what is not in holes into memory of zeros; false where there was less than `size` says.
bool copy_extents(const Descriptor& fd, char* to, std::size_t size) {
  for (std::size_t at = 0; at < size;) {
    const off_t data = ::lseek(fd.get(), static_cast<off_t>(at), SEEK_DATA);
    // Nothing but a hole is left; whether the file still is as long shows below.
    if (data < 0 && errno == ENXIO) break;
    // A file system that does not know of holes has none.
    const std::size_t begin = data < 0 ? at : static_cast<std::size_t>(data);
    const off_t hole = data < 0 ? -1 : ::lseek(fd.get(), data, SEEK_HOLE);
    const std::size_t end = hole < 0 ? size : std::min(size, static_cast<std::size_t>(hole));
    if (begin >= size) break;
    if (read_at(fd, to + begin, end - begin, begin) != static_cast<ssize_t>(end - begin))
      return false;
    at = end;
  }
  struct stat status {};
  return ::fstat(fd.get(), &status) == 0 && std::cmp_greater_equal(status.st_size, size);
}

/// Bytes that a process may take before the kernel ends one for want of memory.
std::size_t free_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  for (std::size_t kib = 0; file >> key >> kib; file.ignore(80, '\n')) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return SIZE_MAX;
}

/// Where the symbolic links of a name lead in the end, whether or not there is something.
std::filesystem::path followed(std::filesystem::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  return path;
}

/// Whether all of it could be written; else errno says why.
bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<std::string> read_below(const std::filesystem::path& folder, const std::string& below,
                               const std::string& name, std::size_t most) {
  const std::string path = shown(std::filesystem::path(below) / name);
  const auto cannot = [&](std::string_view because) {
    return fail(fmt::format("cannot read {}: {}", path, because));
  };
  const auto is_link = [](int at, const std::string& entry) {
    struct stat status {};
    return ::fstatat(at, entry.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISLNK(status.st_mode);
  };
  const int of_folder = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const Descriptor above(::open(folder.empty() ? "." : folder.c_str(), of_folder));
  if (above.get() < 0) return cannot(why());
  if (is_link(above.get(), below)) return cannot(fmt::format("{} is a link", shown(below)));
  const Descriptor inside(::openat(above.get(), below.c_str(), of_folder | O_NOFOLLOW));
  if (inside.get() < 0) return cannot(why());
  if (is_link(inside.get(), name)) return cannot("it is a link");
  const auto file = regular(Descriptor(::openat(inside.get(), name.c_str(),
                                                O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)),
                            path);
  if (!file) return tl::unexpected(file.error());
  if (file->size > most) return too_large(path, grouped(file->size), most);
  std::string content(file->size, '\0');
  const ssize_t count = read_at(file->fd, content.data(), content.size(), 0);
  if (count < 0) return cannot(why());
  if (std::cmp_not_equal(count, content.size())) return cannot("it became shorter meanwhile");
  return content;
}

Result<std::string> read_file(const std::filesystem::path& path, std::size_t most) {
  auto pieces = FilePieces::open(path, most);
  if (!pieces) return tl::unexpected(pieces.error());
  std::string text;
  while (true) {
    const auto piece = pieces->next();
    if (!piece) return tl::unexpected(piece.error());
    if (piece->empty()) return text;
    text += *piece;
  }
}

FilePieces::FilePieces(int fd, std::string name, std::size_t most)
    : fd_(fd), name_(std::move(name)), most_(most) {}

FilePieces::FilePieces(FilePieces&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      name_(std::move(other.name_)),
      most_(other.most_),
      read_(other.read_),
      buffer_(std::move(other.buffer_)) {}

FilePieces::~FilePieces() {
  if (fd_ >= 0) ::close(fd_);
}

Result<FilePieces> FilePieces::open(const std::filesystem::path& path, std::size_t most) {
  auto file = open_regular(path, true);
  if (!file) return tl::unexpected(file.error());
  if (file->size > most) return too_large(shown(path), grouped(file->size), most);
  return FilePieces(file->fd.release(), shown(path), most);
}

Result<std::string_view> FilePieces::next() {
  constexpr std::size_t kPiece = 1 << 16;
  buffer_.resize(kPiece);
  ssize_t count = 0;
  do {
    count = ::read(fd_, buffer_.data(), kPiece);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return fail(fmt::format("cannot read {}: {}", name_, why()));
  read_ += static_cast<std::size_t>(count);
  // It grows while it is read, or has no size of its own, as those of /proc.
  if (read_ > most_) return too_large(name_, "more", most_);
  return std::string_view(buffer_).substr(0, static_cast<std::size_t>(count));
}

Result<FileEnd> read_end_of_file(const std::filesystem::path& path, std::size_t most) {
  const auto file = open_regular(path);
  if (!file) return tl::unexpected(file.error());
  FileEnd end{std::string(std::min(file->size, most), '\0'), file->size > most};
  const ssize_t count =
      read_at(file->fd, end.bytes.data(), end.bytes.size(), file->size - end.bytes.size());
  if (count < 0) return fail(fmt::format("cannot read {}: {}", shown(path), why()));
  end.bytes.resize(static_cast<std::size_t>(count));
  return end;
}

std::vector<std::filesystem::path> files_below(const std::filesystem::path& folder,
                                               std::string_view extension) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().native().ends_with(extension)) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Result<void> write_file(const std::filesystem::path& path, std::string_view bytes) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (!exists && errno != ENOENT)
    return fail(fmt::format("cannot write {}: {}", shown(path), why()));
  const bool direct = exists && !S_ISREG(status.st_mode);
  const std::string target = direct ? path.string() : followed(path).string();
  const std::string written = direct ? target : fmt::format("{}.{}.tmp", target, ::getpid());
  const int flags = O_WRONLY | O_CLOEXEC | (direct ? 0 : O_CREAT | O_TRUNC);
  std::string reason;
  if (const Descriptor fd(::open(written.c_str(), flags, 0644));
      fd.get() < 0 || !write_all(fd.get(), bytes))
    reason = why();
  if (!direct && reason.empty() && ::rename(written.c_str(), target.c_str()) != 0) reason = why();
  if (reason.empty()) return {};
  if (!direct) ::unlink(written.c_str());
  return fail(fmt::format("cannot write {}: {}", shown(path), reason));
}

Result<std::shared_ptr<FileCopy>> FileCopy::make(std::size_t size, std::size_t used,
                                                 const std::string& name) {
  if (size < kSmallestLarge)
    return std::shared_ptr<FileCopy>(new FileCopy(new std::byte[size], size));
  if (const std::size_t free = free_memory(); used > free) {
    return fail(fmt::format("cannot read {}: its {} MiB do not fit the {} MiB of free memory", name,
                            used >> 20, free >> 20),
                "run fewer instances at a time: -j 1");
  }
  void* data = size > SIZE_MAX - kPadding
                   ? MAP_FAILED
                   : ::mmap(nullptr, size + kPadding, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) return fail(fmt::format("cannot read {}: {}", name, why()));
  ::madvise(data, size + kPadding, MADV_DONTFORK);  // a guard of a worker needs none of it
  return std::shared_ptr<FileCopy>(new FileCopy(static_cast<std::byte*>(data), size));
}

Result<std::shared_ptr<const FileCopy>> FileCopy::open(const std::filesystem::path& path) {
  const auto file = open_regular(path);
  if (!file) return tl::unexpected(file.error());
  const std::size_t size = file->size;
  auto copy = make(size, file->allocated, shown(path));
  if (!copy) return tl::unexpected(copy.error());
  char* const data = reinterpret_cast<char*>((*copy)->data_);
  const bool read = size < kSmallestLarge
                        ? read_at(file->fd, data, size, 0) == static_cast<ssize_t>(size)
                        : copy_extents(file->fd, data, size);
  if (!read) return fail(fmt::format("cannot read {}: it is being changed", shown(path)));
  return *copy;
}

Result<std::shared_ptr<const FileCopy>> FileCopy::patched(std::span<const std::byte> like,
                                                          const std::vector<Patch>& patches) {
  auto copy = make(like.size(), like.size(), "a storage");
  if (!copy) return tl::unexpected(copy.error());
  std::copy(like.begin(), like.end(), (*copy)->data_);
  for (const auto& [at, bytes] : patches)
    std::copy(bytes.begin(), bytes.end(), (*copy)->data_ + at);
  return *copy;
}

FileCopy::~FileCopy() {
  if (size_ < kSmallestLarge) {
    delete[] data_;
  } else {
    ::munmap(data_, size_ + kPadding);
  }
}

}  // namespace lockstep
