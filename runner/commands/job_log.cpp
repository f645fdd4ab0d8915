#include "commands/job_log.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "base/random.h"

namespace lockstep {
namespace {

/// By which commands are taken again; empty: they are taken.
std::string& token() {
  static std::string token;
  return token;
}

/// A new token each time: what was printed once is no secret any more.
void stop() {
  token() = fmt::format("lockstep-{:016x}-{:016x}", random_bits(), random_bits());
  fmt::print(stderr, "::stop-commands::{}\n", token());
}

void resume() {
  std::cout.flush();
  std::fflush(stdout);
  fmt::print(stderr, "::{}::\n", token());
  token().clear();
}

}  // namespace

CommandsStopped::CommandsStopped() {
  const char* job = std::getenv("GITHUB_ACTIONS");
  if (job != nullptr && job == std::string_view("true")) stop();
}

CommandsStopped::~CommandsStopped() {
  if (!token().empty()) resume();
}

void print_commands(const std::string& commands) {
  if (commands.empty()) return;
  const bool stopped = !token().empty();
  if (stopped) resume();
  fmt::print(stderr, "{}", commands);
  if (stopped) stop();
}

}  // namespace lockstep
