#include "commands/capture.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "commands/command_line.h"
#include "commands/commands.h"
#include "requests/surroundings.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

const std::vector<std::string> kTakePrograms = {"run", "explain", "shrink", "capture"};

/// Whether an option of a command has its value in the next word.
bool value_follows(const std::string& command, const std::string& word) {
  if (word.find('=') != std::string::npos) return false;
  for (const CommandFacts& facts : command_facts()) {
    if (!facts.name.empty() && facts.name != command) continue;
    for (const OptionFacts& option : facts.options) {
      if (!option.positional && contains(option.names, word)) return !option.value.empty();
    }
  }
  return false;
}

bool is_program(const std::string& word) {
  std::error_code error;
  return word.ends_with(".py") && fs::is_regular_file(word, error);
}

}  // namespace

fs::path package_file(const fs::path& home, const std::string& name) {
  std::error_code error;
  const fs::path root = fs::absolute(home, error);
  for (const fs::path& each :
       {root / "runner" / "python" / "lockstep" / name, root.parent_path() / name}) {
    if (fs::is_regular_file(each, error)) return each;
  }
  return {};
}

std::optional<std::size_t> program_in(const std::vector<std::string>& words) {
  if (words.empty() || !contains(kTakePrograms, words.front())) return std::nullopt;
  const bool any = words.front() == "capture";  // its only positional argument
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--") return any && i + 1 < words.size() ? std::optional(i + 1) : std::nullopt;
    if (words[i].starts_with('-')) {
      if (value_follows(words.front(), words[i])) ++i;
    } else if (any || is_program(words[i])) {
      return i;
    }
  }
  return std::nullopt;
}

Exit hand_over(const std::vector<std::string>& words) {
  std::error_code error;
  Surroundings at = surroundings_of_environment(fs::current_path(error));
  complete(at);
  const fs::path way = package_file(at.home, "capturing/door.py");
  if (way.empty()) {
    fmt::print(stderr, "lockstep: {} has nothing that captures programs: install Lockstep again\n",
               at.home.string());
    return Exit::internal;
  }
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (!error) ::setenv("LOCKSTEP_RUNNER", self.c_str(), 1);
  std::vector<std::string> all = {at.python, way.string()};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& each : all) pointers.push_back(each.data());
  pointers.push_back(nullptr);
  ::execvp(pointers.front(), pointers.data());
  fmt::print(stderr, "lockstep: {} cannot be run: {}. LOCKSTEP_PYTHON names an interpreter.\n",
             at.python, std::strerror(errno));
  return Exit::internal;
}

Exit command_capture(const CaptureOptions& options) {
  std::vector<std::string> words = {"capture", fmt::format("--seconds={}", options.seconds)};
  if (!options.out.empty()) words.push_back("--out=" + options.out);
  if (!options.name.empty()) words.push_back("--name=" + options.name);
  if (options.exact_values) words.push_back("--exact-values");
  if (options.as_shown) words.push_back("--as-shown");
  if (options.calls) words.push_back("--calls");
  if (options.json) words.push_back("--json");
  words.push_back("--");
  words.insert(words.end(), options.program.begin(), options.program.end());
  return hand_over(words);
}

}  // namespace lockstep
