#include "run/suite.h"

#include <fmt/format.h>

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

/// The suite's own path files, besides Lockstep's; none where the suite is Lockstep's.
std::vector<fs::path> paths_of_suite(const SessionSettings& settings) {
  return files_below(settings.root / "paths", ".json");
}

/// The ids of the suite's cases below a file or a folder; none if it is no part of the suite.
std::vector<std::string> ids_of_suite(const SessionSettings& settings, const Suite& suite,
                                      const fs::path& path) {
  std::error_code error;
  const std::string below = fs::weakly_canonical(path, error)
                                .lexically_relative(fs::weakly_canonical(settings.root, error))
                                .generic_string();
  std::vector<std::string> ids;
  for (const CaseFile& file : suite.cases) {
    const std::string& name = file.file.name;  // relative to the root
    if (below == "." || name == below || name.starts_with(below + "/")) ids.push_back(file.id);
  }
  return ids;
}

/// Adds the user's own cases to those of the suite.
void add_own_cases(const SessionSettings& settings, Suite& suite, Diagnostics& diagnostics,
                   const std::shared_ptr<ValueFiles>& values) {
  std::map<std::string, std::string> files, own;  // by id
  for (const CaseFile& file : suite.cases) files[file.id] = file.file.name;
  for (const fs::path& path : settings.files.case_files) {
    std::vector<std::string>& ids = suite.own[path];
    ids = ids_of_suite(settings, suite, path);
    if (!ids.empty()) continue;
    for (CaseFile& file : read_own_cases(path, diagnostics, values)) {
      ids.push_back(file.id);
      const auto [taken, is_new] = files.insert({file.id, file.file.name});
      if (is_new) {
        own.insert(*taken);
        suite.cases.push_back(std::move(file));
      } else if (own[file.id] != file.file.name) {  // else it was named twice
        diagnostics.push_back(
            {file.file.name, 0, 0, "",
             fmt::format("found another case `{}`: that of {}", file.id, taken->second),
             "rename the file: its name is its id"});
      }
    }
  }
  std::sort(suite.cases.begin(), suite.cases.end(),
            [](const CaseFile& a, const CaseFile& b) { return a.id < b.id; });
}

}  // namespace

Result<Suite> read_suite(const SessionSettings& settings, Diagnostics& diagnostics) {
  Suite suite;
  const auto values = std::make_shared<ValueFiles>();
  auto cases = read_suite(settings.root, diagnostics, values);
  if (!cases) return tl::unexpected(cases.error());
  suite.cases = std::move(*cases);
  add_own_cases(settings, suite, diagnostics, values);
  const std::size_t before = diagnostics.size();
  suite.paths = read_paths(settings.home / "runner" / "paths", paths_of_suite(settings),
                           settings.files.path_files, diagnostics);
  // Of a path whose file is wrong nobody has misspelt the name.
  if (diagnostics.size() == before) suite.names = valid_names(suite.paths);
  for (const Path& path : suite.paths) check_declarations(path, suite.names, nullptr, diagnostics);
  for (const CaseFile& file : suite.cases) check_names(file, suite.names, diagnostics);
  if (settings.files.expectations)
    suite.expectations =
        read_expectations(settings.root, settings.files.known_files, suite.names, diagnostics);
  return suite;
}

std::map<std::string, std::string> digests_of_suite(const SessionSettings& settings) {
  const fs::path expected = settings.root / "expected";
  std::vector<fs::path> cases, paths = paths_of_suite(settings);
  std::error_code error;
  for (const fs::path& own : settings.files.case_files) {
    if (fs::is_directory(own, error)) {
      for (fs::path& file : files_below(own, ".json")) cases.push_back(std::move(file));
    } else {
      cases.push_back(own);
    }
  }
  paths.insert(paths.end(), settings.files.path_files.begin(), settings.files.path_files.end());
  std::map<std::string, std::string> digests = {
      {"cases", digest_of(settings.root / "cases", cases)},
      {"judge", std::string(judge_digest())},
      {"paths", digest_of(settings.home / "runner" / "paths", paths)},
      {"expectations", settings.files.expectations
                           ? digest_of(expected / "known", settings.files.known_files)
                           : std::string()},
      {"levels", digest_of(expected / "levels", {})}};
  if (!settings.files.libraries.empty())
    digests["libraries"] = digest_of({}, settings.files.libraries);
  std::vector<fs::path> modules;
  for (const std::string& module : settings.files.modules) {
    if (module.ends_with(".py")) modules.emplace_back(module);
  }
  if (!modules.empty()) digests["modules"] = digest_of({}, modules);
  return digests;
}

}  // namespace lockstep
