#include "requests/own_cases.h"

#include <algorithm>

namespace lockstep {
namespace fs = std::filesystem;

bool names_own_cases(const std::string& word, const fs::path& directory) {
  if (word.ends_with(".json")) return true;
  for (const char* begin : {"./", "../", "/"}) {
    if (word.starts_with(begin)) return true;
  }
  std::error_code error;
  return word == "." || word == ".." ||
         (word.ends_with('/') && fs::is_directory(directory / word, error));
}

fs::path own_cases_of(const std::string& word, const fs::path& directory) {
  const fs::path path = (directory / word).lexically_normal();
  return path.has_filename() ? path : path.parent_path();  // without the slash at the end
}

std::vector<fs::path> own_cases(const Basis& basis) {
  std::vector<fs::path> files;
  const fs::path& directory = basis.at.directory;
  const auto add = [&](const std::string& word) {
    fs::path path = own_cases_of(word, directory);
    if (std::find(files.begin(), files.end(), path) == files.end())
      files.push_back(std::move(path));
  };
  const auto add_named = [&](const std::vector<std::string>& words) {
    for (const std::string& word : words) {
      if (names_own_cases(word, directory)) add(word);
    }
  };
  for (const fs::path& file : basis.files.case_files) add(file.string());
  add_named(basis.choice.select);
  for (const auto& words : basis.choice.after_paths) add_named(words);
  for (const auto& words : basis.choice.after_devices) add_named(words);
  return files;
}

}  // namespace lockstep
