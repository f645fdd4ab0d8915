#include "commands/own_cases.h"

#include <algorithm>

namespace lockstep {
namespace fs = std::filesystem;

bool names_own_cases(const std::string& word, const Options& options) {
  if (word.ends_with(".json")) return true;
  for (const char* begin : {"./", "../", "/"}) {
    if (word.starts_with(begin)) return true;
  }
  std::error_code error;
  return word == "." || word == ".." ||
         (word.ends_with('/') && fs::is_directory(options.directory / word, error));
}

fs::path own_cases_of(const std::string& word, const Options& options) {
  const fs::path path = (options.directory / word).lexically_normal();
  return path.has_filename() ? path : path.parent_path();  // without the slash at the end
}

std::vector<fs::path> own_cases(const Options& options) {
  std::vector<fs::path> files;
  const auto add = [&](const fs::path& path) {
    if (std::find(files.begin(), files.end(), path) == files.end()) files.push_back(path);
  };
  for (const fs::path& file : options.case_files) add(own_cases_of(file.string(), options));
  const auto look_at = [&](const std::string& word) {
    if (names_own_cases(word, options)) add(own_cases_of(word, options));
  };
  if (!selects(options.command)) return files;
  for (const std::string& text : options.select) {
    if (const FollowingWords* list = following_words(options, text)) {
      for (const std::string& word : list->words) look_at(word);
    } else {
      look_at(text);
    }
  }
  return files;
}

}  // namespace lockstep
