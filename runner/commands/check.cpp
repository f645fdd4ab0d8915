#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "commands/backends.h"
#include "commands/certifying.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/open.h"
#include "plan/level.h"
#include "plan/names.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// What was found of each kind of file.
struct Counts {
  std::size_t paths = 0, expectations = 0, levels = 0;
  std::vector<std::string> unchecked;  ///< lines about what nobody could tell
};

/// Says of every case that only another Lockstep can check, and leaves it out.
void leave_out_newer(std::vector<CaseFile>& files) {
  std::erase_if(files, [](const CaseFile& file) {
    const std::string range = newer_lockstep(file.file.root);
    if (range.empty()) return false;
    fmt::print("{}: not checked, it needs Lockstep {}, this is {}\n", one_line(file.file.name),
               range, LOCKSTEP_VERSION);
    return true;
  });
}

/// What is wrong with a level, by the suite as it was read.
void check_one_level(const JsonFile& file, const Level& level, std::vector<CaseFile> suite,
                     const KnownNames& names, const Registry* registry, Diagnostics& diagnostics) {
  check_level(file, suite, names, diagnostics);
  if (level.instances.empty()) return;
  expand_sweeps(suite, registry);
  complete(suite, level);
  check_frozen(file, level, suite, registry, diagnostics);
}

/// Reads the levels of the suite, those that a release froze too.
void check_levels(const Options& options, const Suite& suite, const Registry* registry,
                  Counts& counts, Diagnostics& diagnostics) {
  // Of a case whose file is wrong nobody has misspelt the id.
  const bool whole = diagnostics.empty();
  for (const fs::path& path : files_below(options.suite / "expected" / "levels", ".json")) {
    const auto file =
        read_json(path, path.lexically_relative(options.suite).generic_string(), diagnostics);
    if (!file) continue;
    const Level level = decode_level(*file, diagnostics);
    if (whole) check_one_level(*file, level, suite.cases, suite.names, registry, diagnostics);
    ++counts.levels;
  }
}

/// What the suite demands of certificates, where it says so.
void check_rules(const Options& options, Diagnostics& diagnostics) {
  std::error_code error;
  if (!fs::exists(options.suite / kRulesFile, error)) return;
  if (const auto file = read_json(options.suite / kRulesFile, kRulesFile, diagnostics))
    decode_rules(*file, diagnostics);
}

/// A whole suite.
Result<std::vector<CaseFile>> check_suite(const Options& options, Session& session, Counts& counts,
                                          Diagnostics& diagnostics) {
  if (auto read = session.read_suite(diagnostics); !read) return tl::unexpected(read.error());
  const Suite& suite = session.suite();
  counts.paths = suite.paths.size();
  for (const Path& path : suite.paths)
    check_declarations(path, {}, session.operators(), diagnostics);
  counts.unchecked = check_backends(options, suite.paths, diagnostics);
  counts.expectations = suite.expectations.size();
  check_levels(options, suite, session.operators(), counts, diagnostics);
  check_rules(options, diagnostics);
  return suite.cases;
}

/// Files of any kind, told apart by their top-level keys; the cases among them are given back.
/// Names are those of the suite's paths, of --path-file and of the path files among these.
std::vector<CaseFile> check_files(const Options& options, const Registry* registry, Counts& counts,
                                  Diagnostics& diagnostics) {
  const fs::path folder = options.home / "runner" / "paths";
  std::vector<Path> paths;
  std::error_code error;
  if (fs::is_directory(folder, error) || !options.path_files.empty())
    paths = read_paths(folder, {}, options.path_files, diagnostics);
  bool paths_are_good = diagnostics.empty();
  std::vector<CaseFile> cases;
  std::vector<JsonFile> expectations, levels;
  for (const std::string& name : options.select) {
    Diagnostics ignored;  // what is no JSON is told of as a case
    auto file = read_json(name, name, ignored);
    const auto has = [&](const char* key) { return file && file->root.contains(key); };
    if (has("known")) {
      expectations.push_back(std::move(*file));
    } else if (has("select") || has("instances")) {
      levels.push_back(std::move(*file));
    } else if (has("promise") || has("worker")) {
      auto path = decode_path(*file, diagnostics);
      paths_are_good = paths_are_good && path;
      if (path) {
        path->added = true;
        const std::size_t before = diagnostics.size();
        std::erase_if(paths, [&](const Path& other) {  // it is one of the suite's
          return fs::equivalent(other.file->name, name, error);
        });
        add_paths(std::move(*path), paths, diagnostics);
        paths_are_good = paths_are_good && diagnostics.size() == before;
      }
      ++counts.paths;
    } else {
      const std::size_t before = diagnostics.size();
      CaseFile read = read_case_file(name, name, diagnostics);
      if (diagnostics.size() == before) cases.push_back(std::move(read));
    }
  }
  if (paths_are_good) check_ladder(paths, diagnostics);
  const KnownNames names = paths_are_good ? known_names(paths, registry) : KnownNames();
  for (const Path& path : paths) check_declarations(path, names, registry, diagnostics);
  counts.unchecked = check_backends(options, paths, diagnostics);
  for (const CaseFile& file : cases) check_names(file, names, diagnostics);
  for (const JsonFile& file : expectations)
    counts.expectations += decode_expectations(file, names, diagnostics).size();
  if (levels.empty()) return cases;
  Diagnostics ignored;  // the faults of the suite are not asked for
  const auto suite = read_suite(options.suite, ignored);
  for (const JsonFile& file : levels) {
    const Level level = decode_level(file, diagnostics);
    if (suite && ignored.empty())
      check_one_level(file, level, *suite, names, registry, diagnostics);
    ++counts.levels;
  }
  return cases;
}

/// What valid cases are valid as.
std::string operators_as(const std::vector<CaseFile>& files, const Registry* registry) {
  if (registry != nullptr) return fmt::format(", operators as of torch {}", registry->torch());
  std::string text =
      " in structure; operators are not checked, for there is no dump of their schemas";
  const auto sweeps = std::count_if(files.begin(), files.end(), is_sweep);
  if (sweeps > 0) {
    text += fmt::format(", without which {} sweep{} no instances", sweeps,
                        sweeps == 1 ? " has" : "s have");
  }
  return text;
}

std::string number_of(std::size_t number, std::string_view what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

}  // namespace

Exit command_check(const Options& options) {
  Diagnostics diagnostics;
  Session session(session_settings(options));
  if (auto read = read_operators(session); !read) return read.error();
  const Registry* const registry = session.operators();
  Counts counts;
  auto files =
      options.select.empty()
          ? check_suite(options, session, counts, diagnostics)
          : Result<std::vector<CaseFile>>(check_files(options, registry, counts, diagnostics));
  if (!files) {
    print_error(files.error());
    return Exit::usage;
  }
  leave_out_newer(*files);
  if (registry != nullptr) expand_sweeps(*files, registry);
  std::size_t instances = 0;
  for (const CaseFile& file : *files) instances += check_instances(file, registry, diagnostics);
  for (const std::string& line : counts.unchecked) fmt::print("{}\n", line);
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  if (!files->empty() || options.select.empty()) {
    fmt::print("{} with {}: valid{}\n", number_of(files->size(), "case"),
               number_of(instances, "instance"), operators_as(*files, registry));
  }
  std::vector<std::string> others;
  if (counts.paths > 0) others.push_back(number_of(counts.paths, "path"));
  if (counts.expectations > 0) others.push_back(number_of(counts.expectations, "expectation"));
  if (counts.levels > 0) others.push_back(number_of(counts.levels, "level"));
  if (!others.empty()) fmt::print("{}: valid\n", enumerate(others));
  return Exit::ok;
}

}  // namespace lockstep
