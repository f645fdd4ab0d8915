// lockstep-eager: executes programs with libtorch, eagerly.  See ../PROTOCOL.md.

#include <ATen/Parallel.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "workers/eager/parent.h"
#include "workers/eager/schemas.h"

namespace {

constexpr const char* usage =
    "usage: lockstep-eager [worker]   speak the worker protocol on stdin and stdout\n"
    "       lockstep-eager schemas    print the operator schemas of this torch as JSON\n";

int serve() {
  // Whatever a library prints must not get between the lines of the protocol.
  const int protocol = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  if (protocol < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
    std::perror("lockstep-eager: cannot set standard output aside");
    return 1;
  }
  return lockstep::eager::Parent(STDIN_FILENO, protocol).serve();
}

}  // namespace

int main(int argc, char** argv) {
  // Before anything else: libgomp does not survive a fork after a parallel region.
  at::set_num_threads(1);
  const std::string command = argc > 1 ? argv[1] : "worker";
  if (argc <= 2 && command == "worker") return serve();
  if (argc <= 2 && command == "schemas") {
    std::cout << lockstep::eager::schemas().dump() << '\n';
    return std::cout.good() ? 0 : 1;
  }
  const bool asked = command == "--help" || command == "-h";
  std::fputs(usage, asked ? stdout : stderr);
  return asked ? 0 : 64;
}
