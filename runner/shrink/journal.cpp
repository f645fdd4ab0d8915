#include "shrink/journal.h"

#include <fmt/format.h>

#include <fstream>

#include "base/text.h"

namespace lockstep {

Journal::Journal(std::filesystem::path file) : file_(std::move(file)) {
  if (file_.empty()) return;
  std::ifstream lines(file_);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = line.find(' ');
    // The last line of a process that was killed may lack its end.
    if (blank == 0 || blank == std::string::npos || !line.ends_with('.')) continue;
    known_[line.substr(0, blank)] = line.substr(blank + 1, line.size() - blank - 2);
  }
}

std::optional<std::string> Journal::find(const std::string& digest) const {
  const auto found = known_.find(digest);
  return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void Journal::add(const std::string& digest, const std::string& found) {
  known_[digest] = found;
  if (file_.empty()) return;
  std::ofstream out(file_, std::ios::app);
  out << fmt::format("{} {}.\n", digest, found);
}

}  // namespace lockstep
