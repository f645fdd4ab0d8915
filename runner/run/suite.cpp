#include "run/suite.h"

#include <algorithm>

#include "base/digest.h"
#include "base/files.h"
#include "record/judge_digest.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Of the names and bytes of the JSON files below a folder, and of the bytes of other files.
std::string digest_of(const fs::path& folder, const std::vector<fs::path>& others) {
  Digest digest;
  const auto add = [&](const std::string& name, const fs::path& file) {
    const std::string text = read_file(file).value_or("");
    digest.add({name.c_str(), name.size() + 1}).add({text.c_str(), text.size() + 1});
  };
  std::vector<fs::path> files;
  if (!folder.empty()) files = files_below(folder, ".json");
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) add(file.lexically_relative(folder).generic_string(), file);
  for (const fs::path& file : others) add("extra", file);
  return digest.hex();
}

}  // namespace

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

std::map<std::string, std::string> digests_of_suite(const SessionSettings& settings) {
  const fs::path expected = settings.root / "expected";
  std::map<std::string, std::string> digests = {
      {"cases", digest_of(settings.root / "cases", {})},
      {"judge", std::string(judge_digest())},
      {"paths", digest_of(settings.root / "runner" / "paths", settings.path_files)},
      {"expectations", settings.expectations ? digest_of(expected / "known", {}) : std::string()},
      {"levels", digest_of(expected / "levels", {})}};
  if (!settings.libraries.empty()) digests["libraries"] = digest_of({}, settings.libraries);
  return digests;
}

}  // namespace lockstep
