#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>

#include "commands/job_log.h"
#include "commands/subcommand.h"
#include "engine/warm.h"

namespace lockstep {
namespace {

/// Whether a reader of standard output has gone, like `head`, which has all that it wants.
bool reader_left() {
  pollfd polled{STDOUT_FILENO, POLLOUT, 0};
  return ::poll(&polled, 1, 0) == 1 && (polled.revents & (POLLERR | POLLHUP)) != 0;
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
  const std::vector<std::string> words(argv + 1, argv + argc);
  // What Lockstep says to itself when it starts workers is no command.
  if (words.size() > 2 && words[0] == kAttach) return attach({words.begin() + 1, words.end()});
  if (words.size() > 2 && words[0] == kReside) return reside({words.begin() + 1, words.end()});
  const CommandsStopped stopped;
  Exit exit = Exit::internal;
  try {
    exit = delivered(meet(read_command_line(words)));
  } catch (const std::exception& error) {
    // Of fmt::print, when it cannot; where the reader has left there is nobody to tell.
    if (!reader_left()) broken("ended early", error.what());
  }
  return static_cast<int>(exit);
}
