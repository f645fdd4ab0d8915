#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "commands/commands.h"
#include "commands/options.h"

namespace lockstep {
namespace {

/// Whether a reader of standard output has gone, like `head`, which has all that it wants.
bool reader_left() {
  pollfd polled{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0;
}

Exit execute(const Options& options) {
  if (executes(options.command) || options.command == "serve") return command_run(options);
  if (options.command == "list") return command_list(options);
  if (options.command == "show") return command_show(options);
  if (options.command == "check") return command_check(options);
  if (options.command == "report") return command_report(options);
  if (options.command == "doctor") return command_doctor(options);
  if (options.command == "repro") return command_repro(options);
  if (options.command == "explain") return command_explain(options);
  if (options.command == "shrink") return command_shrink(options);
  if (options.command == "new") return command_new(options);
  if (options.command == "completion") return command_completion(options);
  if (options.command == "man") return command_man(options);
  if (options.command == "findings") return command_findings(options);
  if (options.command == "coverage") return command_coverage(options);
  if (options.command == "merge") return command_merge(options);
  if (options.command == "gate") return command_gate(options);
  if (options.command == "certify") return command_certify(options);
  if (options.command == "verify") return command_verify(options);
  fmt::print(options.exit == Exit::ok ? stdout : stderr, "{}", options.text);
  return options.exit;
}

/// Says on standard error what ended the process, where that can be said.
Exit broken(const char* what, const char* why) {
  std::fprintf(stderr, "lockstep: %s: %s\n", what, why);
  return Exit::internal;
}

/// How a command ended, once it is certain that what it printed has arrived.
Exit delivered(Exit exit) {
  errno = 0;
  std::cout.flush();
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good();
  if (arrived || reader_left()) return exit;
  // What an earlier write met is forgotten by now.
  return broken("cannot write all of standard output",
                errno != 0 ? std::strerror(errno) : "is there room where it goes?");
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  using namespace lockstep;
  Exit exit = Exit::internal;
  try {
    exit = delivered(execute(parse_options(argc, argv)));
  } catch (const std::exception& error) {
    // Of fmt::print, when it cannot; where the reader has left there is nobody to tell.
    if (!reader_left()) broken("ended early", error.what());
  }
  return static_cast<int>(exit);
}
