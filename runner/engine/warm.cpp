#include "engine/warm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/digest.h"
#include "base/json.h"
#include "base/text.h"
#include "engine/post_mortem.h"

extern char** environ;

namespace lockstep {
namespace fs = std::filesystem;
namespace {

// A resident worker that is stopped or swapped out must not hold up a run: then a new one starts.
constexpr int kPatienceMilliseconds = 2000;

/// Whether a variable changes nothing that torch or Python does as it is imported, so that a worker
/// takes it over afterwards; the folders of caches it sets itself.
bool taken_over(std::string_view name) {
  static const std::vector<std::string> kOthers = {"PWD",
                                                   "OLDPWD",
                                                   "SHLVL",
                                                   "_",
                                                   "COLUMNS",
                                                   "LINES",
                                                   "TERM",
                                                   "TORCHINDUCTOR_CACHE_DIR",
                                                   "TRITON_CACHE_DIR"};
  if (name == "LOCKSTEP_PINS") return false;  // read before torch is
  return name.starts_with("LOCKSTEP_") || name.starts_with("PYTEST_") ||
         contains(kOthers, std::string(name));
}

/// Our variables that are taken over, or the others.
std::vector<std::string> variables(bool which) {
  std::vector<std::string> found;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (taken_over(text.substr(0, text.find('='))) == which) found.emplace_back(text);
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// What the kernel lets us do and see.
void add_limits(Digest& digest) {
  for (int resource = 0; resource < RLIM_NLIMITS; ++resource) {
    rlimit limit{};
    ::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
    digest.add(fmt::format("{} {}\n", limit.rlim_cur, limit.rlim_max));
  }
  cpu_set_t processors;
  CPU_ZERO(&processors);
  ::sched_getaffinity(0, sizeof processors, &processors);
  digest.add({reinterpret_cast<const char*>(&processors), sizeof processors});
  const mode_t mask = ::umask(0);
  ::umask(mask);
  digest.add(
      fmt::format("{} {} {} {}\n", mask, ::getuid(), ::getgid(), ::getpriority(PRIO_PROCESS, 0)));
  for (const char* space : {"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"}) {
    std::error_code error;
    digest.add(fs::read_symlink(fmt::format("/proc/self/ns/{}", space), error).string());
  }
  std::ifstream group("/proc/self/cgroup");
  digest.add(std::string{std::istreambuf_iterator<char>(group), {}});
}

/// A socket at the name, which need not fit into an address: the folder is named by a descriptor.
/// `act` is connect() or bind(). Negative where it cannot be had, with errno.
int socket_at(const fs::path& folder, const std::string& name,
              int (*act)(int, const sockaddr*, socklen_t)) {
  const int directory = ::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  const int descriptor = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", directory, name);
  std::copy_n(path.data(), std::min(path.size(), sizeof address.sun_path - 1), address.sun_path);
  const int done = act(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int why = errno;
  ::close(directory);
  if (descriptor >= 0 && done != 0) ::close(descriptor);
  errno = why;
  return done == 0 ? descriptor : -1;
}

/// Sends a message with our three standard descriptors.
bool send_with_descriptors(int to, std::string text) {
  alignas(cmsghdr) std::array<char, CMSG_SPACE(3 * sizeof(int))> room{};
  iovec part{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(3 * sizeof(int));
  const int descriptors[] = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
  std::memcpy(CMSG_DATA(header), descriptors, sizeof descriptors);
  return ::sendmsg(to, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

/// Waits for a message of at most `size` bytes, so many milliseconds (-1: for ever); its length.
ssize_t receive(int from, void* into, std::size_t size, int milliseconds) {
  pollfd watched{from, POLLIN, 0};
  int ready = 0;
  do {
    ready = ::poll(&watched, 1, milliseconds);
  } while (ready < 0 && errno == EINTR);
  return ready == 1 ? ::recv(from, into, size, 0) : -1;
}

/// Where a worker's own words begin in a command line.
auto own_words(const std::vector<std::string>& argv) {
  const auto module = std::find(argv.begin(), argv.end(), kModule);
  return module == argv.end() ? module : module + 1;
}

/// What a resident worker is asked for: a fork that does what `words` say, or its end.
std::string request(bool end, std::vector<std::string> words = {}) {
  std::error_code error;
  return Json{{"cwd", fs::current_path(error).string()},
              {"variables", variables(true)},
              {"words", std::move(words)},
              {"end", end}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// Ends this process as the worker ended.
int end_like(int status) {
  if (!WIFSIGNALED(status)) return WEXITSTATUS(status);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);  // the worker has left its own
  ::signal(WTERMSIG(status), SIG_DFL);
  ::raise(WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

int execute(const std::vector<std::string>& argv) {
  std::vector<std::string> texts = argv;
  std::vector<char*> words;
  for (std::string& text : texts) words.push_back(text.data());
  words.push_back(nullptr);
  ::execvp(words[0], words.data());
  fmt::print(stderr, "cannot start {}: {}\n", argv[0], std::strerror(errno));
  return 127;
}

/// The words behind the folder.
std::vector<std::string> worker_in(const std::vector<std::string>& words) {
  return {words.begin() + 1, words.end()};
}

std::vector<std::string> sockets_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.is_socket(error)) names.push_back(entry.path().filename().string());
  }
  return names;
}

/// Takes away the names of sockets at which nobody listens, of processes that were killed.
void clear(const fs::path& folder) {
  for (const std::string& name : sockets_in(folder)) {
    const int resident = socket_at(folder, name, ::connect);
    if (resident >= 0)
      ::close(resident);
    else
      ::unlink((folder / name).c_str());
  }
}

}  // namespace

std::vector<std::string> attaching(const fs::path& folder, const std::vector<std::string>& argv) {
  std::vector<std::string> words = {"/proc/self/exe", std::string(kAttach), folder.string()};
  words.insert(words.end(), argv.begin(), argv.end());
  return words;
}

bool has_resident(const fs::path& folder) { return !sockets_in(folder).empty(); }

std::string identity_of_worker(const std::vector<std::string>& argv) {
  Digest digest;
  for (const auto& part : {std::vector(argv.begin(), own_words(argv)), variables(false)}) {
    for (const std::string& text : part) digest.add(text).add(std::string_view("\0", 1));
    digest.add(std::string_view("\0", 1));
  }
  add_limits(digest);
  return digest.hex();
}

int attach(const std::vector<std::string>& words) {
  const std::vector<std::string> argv = worker_in(words);
  const int resident = socket_at(words[0], identity_of_worker(argv), ::connect);
  if (resident < 0) return execute(argv);
  char answer = 'n';
  const bool ready =
      send_with_descriptors(resident, request(false, {own_words(argv), argv.end()})) &&
      receive(resident, &answer, 1, kPatienceMilliseconds) == 1 && answer == 'y' &&
      ::send(resident, "!", 1, MSG_NOSIGNAL) == 1;
  if (!ready) {
    ::close(resident);
    return execute(argv);
  }
  // What this process waits for has the pipes alone, so that their ends are seen.
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) ::dup2(nothing, standard);
  int status = W_EXITCODE(0, SIGKILL);  // where the resident one was killed, and with it the worker
  if (receive(resident, &status, sizeof status, -1) != sizeof status)
    status = W_EXITCODE(0, SIGKILL);
  return end_like(status);
}

int reside(const std::vector<std::string>& words) {
  std::vector<std::string> argv = worker_in(words);
  const std::string name = identity_of_worker(argv);
  const fs::path file = fs::path(words[0]) / name;
  int listener = socket_at(words[0], name, ::bind);
  if (listener < 0 && errno == EADDRINUSE) {
    if (const int other = socket_at(words[0], name, ::connect); other >= 0) return ::close(other);
    ::unlink(file.c_str());  // of one that was killed
    listener = socket_at(words[0], name, ::bind);
  }
  if (listener < 0) {
    fmt::print(stderr, "cannot listen in {}: {}\n", words[0], std::strerror(errno));
    return 1;
  }
  ::dup2(listener, STDIN_FILENO);
  argv.push_back(file.string());
  return execute(argv);
}

Result<bool> start_resident(const fs::path& folder, const Command& command) {
  std::error_code error;
  fs::create_directories(folder, error);
  fs::permissions(folder, fs::perms::owner_all, error);  // what listens there forks for its owner
  if (error) return fail(fmt::format("cannot make {}: {}", folder.string(), error.message()));
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  std::vector<std::string> words = {"lockstep", std::string(kReside), folder.string()};
  words.insert(words.end(), command.argv.begin(), command.argv.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    const int nothing = ::open("/dev/null", O_RDWR);
    const int log = ::open(command.stderr_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(nothing, STDIN_FILENO);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    for (const auto& [name, value] : command.environment) ::setenv(name.c_str(), value.c_str(), 1);
    ::closefrom(STDERR_FILENO + 1);
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGHUP, SIG_DFL);
    ::execv("/proc/self/exe", pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  char line = 0;
  const bool waits = child > 0 && ::read(ends[0], &line, 1) == 1;
  ::close(ends[0]);
  if (waits) return true;
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return false;
  clear(folder);
  return fail(fmt::format("it {} before it could wait; the end of {}:\n{}",
                          describe_wait_status(status), command.stderr_file.string(),
                          tail_of(command.stderr_file)));
}

int stop_residents(const fs::path& folder) {
  int stopped = 0;
  clear(folder);
  for (const std::string& name : sockets_in(folder)) {
    const int resident = socket_at(folder, name, ::connect);
    if (resident < 0) continue;
    char answer = 'n';
    stopped += send_with_descriptors(resident, request(true)) &&
               receive(resident, &answer, 1, kPatienceMilliseconds) == 1 && answer == 'y';
    ::close(resident);
  }
  return stopped;
}

}  // namespace lockstep
