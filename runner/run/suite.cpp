#include "run/suite.h"

#include <algorithm>

#include "base/digest.h"
#include "base/files.h"

namespace lockstep {
namespace fs = std::filesystem;

Result<Suite> read_suite(const SessionSettings& settings, Diagnostics& diagnostics) {
  Suite suite;
  auto cases = read_suite(settings.root, diagnostics);
  if (!cases) return tl::unexpected(cases.error());
  suite.cases = std::move(*cases);
  const std::size_t before = diagnostics.size();
  suite.paths = read_paths(settings.root / "runner" / "paths", settings.path_files, diagnostics);
  // Of a path whose file is wrong nobody has misspelt the name.
  if (diagnostics.size() == before) suite.names = known_names(suite.paths);
  for (const Path& path : suite.paths) check_declarations(path, suite.names, nullptr, diagnostics);
  for (const CaseFile& file : suite.cases) check_names(file, suite.names, diagnostics);
  if (settings.expectations)
    suite.expectations = read_expectations(settings.root, suite.names, diagnostics);
  return suite;
}

std::string digest_of_suite(const SessionSettings& settings) {
  std::vector<std::pair<std::string, fs::path>> files;
  for (const char* folder : {"cases", "expected", "runner/paths"}) {
    for (const fs::path& path : files_below(settings.root / folder, ".json"))
      files.emplace_back(path.lexically_relative(settings.root).generic_string(), path);
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : settings.path_files) files.emplace_back("extra", path);
  for (const fs::path& path : settings.libraries) files.emplace_back("extra", path);
  Digest digest;
  for (const auto& [name, path] : files) {
    const std::string text = read_file(path).value_or("");
    digest.add({name.c_str(), name.size() + 1}).add({text.c_str(), text.size() + 1});
  }
  return digest.hex();
}

}  // namespace lockstep
