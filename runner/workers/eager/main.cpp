// lockstep-eager: executes programs with libtorch, eagerly.  See docs/design/protocol.md.

#include <ATen/Parallel.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "workers/eager/environment.h"
#include "workers/eager/parent.h"
#include "workers/eager/schemas.h"

namespace {

constexpr const char* kUsage =
    "usage: lockstep-eager [worker [BATCH]]\n"
    "                                 speak the worker protocol on stdin and stdout; one child\n"
    "                                 takes up to BATCH executions for the CPU (1 to 1024)\n"
    "       lockstep-eager schemas [LIBRARY...]\n"
    "                                 print the operator schemas of this torch, and of shared\n"
    "                                 objects that add operators to it, as JSON\n";

/// Standard output under another number, or -1: whatever a library prints must not get between what
/// is said.
int set_output_aside() {
  const int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (output >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0) return output;
  std::perror("lockstep-eager: cannot set standard output aside");
  return -1;
}

int dump(const std::vector<std::string>& libraries) {
  const int output = set_output_aside();
  if (output < 0) return 1;
  try {
    lockstep::eager::load_libraries(libraries);
    const std::string text = lockstep::eager::schemas().dump() + "\n";
    std::FILE* file = fdopen(output, "w");
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return std::fclose(file) == 0 && written ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lockstep-eager: %s\n", error.what());
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  // Before anything else: libgomp does not survive a fork after a parallel region.
  at::set_num_threads(1);
  const std::string command = argc > 1 ? argv[1] : "worker";
  const int batch = argc == 3 ? std::atoi(argv[2]) : 1;
  if (argc <= 3 && command == "worker" && batch >= 1 && batch <= 1024) {
    const int protocol = set_output_aside();
    return protocol < 0 ? 1 : lockstep::eager::Parent(STDIN_FILENO, protocol, batch).serve();
  }
  if (command == "schemas") return dump({argv + 2, argv + argc});
  const bool asked = command == "--help" || command == "-h";
  std::fputs(kUsage, asked ? stdout : stderr);
  return asked ? 0 : 64;
}
