#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "commands/backends.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/functions.h"
#include "plan/level.h"
#include "plan/names.h"
#include "requests/certify.h"
#include "requests/open.h"

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
    print_people(stdout, fmt::format("{}: not checked, it needs Lockstep {}, this is {}\n",
                                     one_line(file.file.name), range, LOCKSTEP_VERSION));
    return true;
  });
}

/// The errors in a level, given the suite.
void check_one_level(const JsonFile& file, const Level& level, std::vector<CaseFile> suite,
                     const ValidNames& names, const Registry* registry, Diagnostics& diagnostics) {
  check_level(file, suite, names, diagnostics);
  if (level.instances.empty()) return;
  expand_sweeps(suite, registry);
  complete(suite, level);
  check_frozen(file, level, suite, registry, diagnostics);
}

/// Reads the levels of the suite, those that a release froze too.
void check_levels(const fs::path& root, const Suite& suite, const Registry* registry,
                  Counts& counts, Diagnostics& diagnostics) {
  // Of a case whose file is wrong nobody has misspelt the id.
  const bool whole = diagnostics.empty();
  for (const fs::path& path : files_below(root / "expected" / "levels", ".json")) {
    const auto file = read_json(path, path.lexically_relative(root).generic_string(), diagnostics);
    if (!file) continue;
    const Level level = decode_level(*file, diagnostics);
    if (whole) check_one_level(*file, level, suite.cases, suite.names, registry, diagnostics);
    ++counts.levels;
  }
}

/// What the suite demands of certificates, where it says so.
void check_rules(const fs::path& root, Diagnostics& diagnostics) {
  std::error_code error;
  if (!fs::exists(root / kRulesFile, error)) return;
  if (const auto file = read_json(root / kRulesFile, kRulesFile, diagnostics))
    decode_rules(*file, diagnostics);
}

/// A whole suite.
Result<std::vector<CaseFile>> check_suite(Session& session, Counts& counts,
                                          Diagnostics& diagnostics) {
  if (auto read = session.read_suite(diagnostics); !read) return tl::unexpected(read.error());
  const Suite& suite = session.suite();
  counts.paths = suite.paths.size();
  for (const Path& path : suite.paths)
    check_declarations(path, {}, session.operators(), diagnostics);
  counts.unchecked = check_backends(session.settings(), suite.paths, diagnostics);
  counts.expectations = suite.expectations.size();
  check_levels(session.settings().root, suite, session.operators(), counts, diagnostics);
  check_rules(session.settings().root, diagnostics);
  return suite.cases;
}

/// Files of any kind, told apart by their top-level keys.
struct Given {
  std::vector<CaseFile> cases;
  std::vector<JsonFile> expectations, levels;
  std::vector<Path> paths;  ///< the suite's, too
  bool paths_are_good = true;
  std::shared_ptr<ValueFiles> values = std::make_shared<ValueFiles>();  ///< beside the cases
};

/// Takes a path file in the place of the suite's, if it is one of these.
void take_path(const JsonFile& file, const std::string& name, Given& given,
               Diagnostics& diagnostics) {
  auto path = decode_path(file, diagnostics);
  given.paths_are_good = given.paths_are_good && path;
  if (!path) return;
  path->added = true;
  const std::size_t before = diagnostics.size();
  std::error_code error;
  std::erase_if(given.paths,
                [&](const Path& other) { return fs::equivalent(other.file->name, name, error); });
  add_paths(std::move(*path), given.paths, diagnostics);
  given.paths_are_good = given.paths_are_good && diagnostics.size() == before;
}

void take_file(const std::string& name, Given& given, Counts& counts, Diagnostics& diagnostics) {
  Diagnostics ignored;  // what is no JSON is told of as a case
  auto file = read_json(name, name, ignored);
  const auto has = [&](const char* key) { return file && file->root.contains(key); };
  if (has("known")) {
    given.expectations.push_back(std::move(*file));
  } else if (has("select") || has("instances")) {
    given.levels.push_back(std::move(*file));
  } else if (has("contract") || has("worker")) {
    take_path(*file, name, given, diagnostics);
    ++counts.paths;
  } else {
    const std::size_t before = diagnostics.size();
    CaseFile read = read_case_file(name, name, diagnostics, {}, given.values);
    if (diagnostics.size() == before) given.cases.push_back(std::move(read));
  }
}

/// Names are those of the suite's paths, of --path-file and of the path files among the given ones.
Given take_files(const std::vector<std::string>& names, const SessionSettings& settings,
                 Counts& counts, Diagnostics& diagnostics) {
  const fs::path folder = settings.home / "runner" / "paths";
  Given given;
  std::error_code error;
  if (fs::is_directory(folder, error) || !settings.files.path_files.empty())
    given.paths = read_paths(folder, {}, settings.files.path_files, diagnostics);
  given.paths_are_good = diagnostics.empty();
  for (const std::string& name : names) take_file(name, given, counts, diagnostics);
  return given;
}

/// Checks files, and gives the cases among them.
std::vector<CaseFile> check_files(const std::vector<std::string>& files,
                                  const SessionSettings& settings, const Registry* registry,
                                  std::shared_ptr<const PythonOperators>& python, Counts& counts,
                                  Diagnostics& diagnostics) {
  Given given = take_files(files, settings, counts, diagnostics);
  python = operators_of_modules(settings, given.paths);
  if (given.paths_are_good) check_ladder(given.paths, diagnostics);
  const ValidNames names = given.paths_are_good ? valid_names(given.paths, registry) : ValidNames();
  for (const Path& path : given.paths) check_declarations(path, names, registry, diagnostics);
  counts.unchecked = check_backends(settings, given.paths, diagnostics);
  for (const CaseFile& file : given.cases) check_names(file, names, diagnostics);
  for (const JsonFile& file : given.expectations)
    counts.expectations += decode_expectations(file, names, diagnostics).size();
  if (given.levels.empty()) return std::move(given.cases);
  Diagnostics ignored;  // the faults of the suite are not asked for
  const auto suite = read_suite(settings.root, ignored);
  for (const JsonFile& file : given.levels) {
    const Level level = decode_level(file, diagnostics);
    if (suite && ignored.empty())
      check_one_level(file, level, *suite, names, registry, diagnostics);
    ++counts.levels;
  }
  return std::move(given.cases);
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

/// What is valid, in words.
void print_counts(const CheckOptions& options, const std::vector<CaseFile>& files,
                  std::size_t instances, const Counts& counts, const Registry* registry) {
  if (!files.empty() || options.files.empty()) {
    fmt::print("{} with {}: valid{}\n", number_of(files.size(), "case"),
               number_of(instances, "instance"), operators_as(files, registry));
  }
  std::vector<std::string> others;
  if (counts.paths > 0) others.push_back(number_of(counts.paths, "path"));
  if (counts.expectations > 0) others.push_back(number_of(counts.expectations, "expectation"));
  if (counts.levels > 0) others.push_back(number_of(counts.levels, "level"));
  if (!others.empty()) fmt::print("{}: valid\n", enumerate(others));
}

}  // namespace

Exit command_check(const CheckOptions& options) {
  Diagnostics diagnostics;
  Session session(session_settings(options.basis));
  if (auto read = read_operators(session); !read) return tell(read.error());
  const Registry* const registry = session.operators();
  Counts counts;
  std::shared_ptr<const PythonOperators> of_paths;  // among the given files, which no session has
  auto files =
      options.files.empty()
          ? check_suite(session, counts, diagnostics)
          : Result<std::vector<CaseFile>>(check_files(options.files, session.settings(), registry,
                                                      of_paths, counts, diagnostics));
  if (!files) {
    print_error(files.error());
    return Exit::usage;
  }
  leave_out_newer(*files);
  if (registry != nullptr) expand_sweeps(*files, registry);
  const PythonOperators* const python = of_paths ? of_paths.get() : session.python_operators();
  std::size_t instances = 0;
  CalledFunctions called;
  for (const CaseFile& file : *files) {
    const auto note = [&](const Case& declared) { note_functions(file, declared, called); };
    instances += check_instances(file, registry, diagnostics, python, note);
  }
  if (registry != nullptr && diagnostics.empty() && !options.files.empty()) {
    for (std::string& line : check_functions(session.settings(), called, diagnostics))
      counts.unchecked.push_back(std::move(line));
  }
  for (const std::string& line : counts.unchecked) print_people(stdout, line + "\n");
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  print_counts(options, *files, instances, counts, registry);
  return Exit::ok;
}

}  // namespace lockstep
