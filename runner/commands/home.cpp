#include "commands/home.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <tuple>

#include "base/digest.h"
#include "base/files.h"
#include "base/spawn.h"
#include "base/text.h"
#include "engine/scratch.h"
#include "plan/level.h"
#include "record/log.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Digest of every file that decides what a run does.
std::string digest_of(const fs::path& root, const std::vector<fs::path>& extra) {
  std::vector<std::pair<std::string, fs::path>> files;
  for (const char* folder : {"cases", "expected", "runner/paths"}) {
    for (const fs::path& path : files_below(root / folder, ".json"))
      files.emplace_back(path.lexically_relative(root).generic_string(), path);
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : extra) files.emplace_back("extra", path);
  Digest digest;
  for (const auto& [name, path] : files) {
    const std::string text = read_file(path).value_or("");
    digest.add({name.c_str(), name.size() + 1}).add({text.c_str(), text.size() + 1});
  }
  return digest.hex();
}

/// The terms of expected/levels/NAME.json.
Result<std::vector<std::string>> level_terms(const Options& options, const std::string& name) {
  const fs::path file = options.home / "expected" / "levels" / (name + ".json");
  auto text = read_file(file);
  if (!text) {
    std::vector<std::string> levels = {"all"};
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(file.parent_path(), error))
      levels.push_back(entry.path().stem().string());
    std::sort(levels.begin(), levels.end());
    return fail(fmt::format("there is no level `{}`", name), suggestion(name, levels));
  }
  JsonFile json{file.lexically_relative(options.home).generic_string(), std::move(*text), {}};
  Diagnostics diagnostics;
  parse_json(json, diagnostics);
  std::vector<std::string> terms;
  if (diagnostics.empty()) terms = decode_level(json, diagnostics);
  if (!diagnostics.empty()) return fail(to_string(diagnostics.front()));
  return terms;
}

/// Paths are a closed list, so a misspelled one is an error rather than a run of less.
Result<void> check_paths(const Filter& filter, const std::vector<Path>& paths) {
  std::vector<std::string> names;
  for (const Path& path : paths) names.push_back(path.name);
  for (const std::string& pattern : filter.patterns("path")) {
    if (std::none_of(names.begin(), names.end(),
                     [&](const std::string& name) { return glob_match(pattern, name); })) {
      const std::string near = suggestion(pattern, names);
      return fail(fmt::format("there is no path `{}`", pattern),
                  near.empty() ? "there are " + enumerate(names) : near);
    }
  }
  return {};
}

}  // namespace

void print_error(const Error& error) {
  fmt::print(stderr, "lockstep: {}\n", error.message);
  if (!error.hint.empty()) fmt::print(stderr, "    {}\n", error.hint);
}

void print_diagnostics(const Diagnostics& diagnostics) {
  Diagnostics sorted = diagnostics;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.file, a.line, a.column) < std::tie(b.file, b.line, b.column);
  });
  for (const Diagnostic& diagnostic : sorted) fmt::print(stderr, "{}\n", to_string(diagnostic));
  std::vector<std::string> files;
  for (const Diagnostic& diagnostic : sorted) {
    if (files.empty() || files.back() != diagnostic.file) files.push_back(diagnostic.file);
  }
  fmt::print(stderr, "lockstep: {} error{} in {} file{}\n", sorted.size(),
             sorted.size() == 1 ? "" : "s", files.size(), files.size() == 1 ? "" : "s");
}

fs::path beside_binary(std::string_view name) {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path() / name;
}

fs::path eager_executable(const Options& options) {
  return options.eager.empty() ? beside_binary("lockstep-eager") : options.eager;
}

tl::expected<EarlierStatuses, Exit> earlier_statuses(const Options& options, const Filter& filter) {
  EarlierStatuses statuses;
  if (!filter.mentions("status")) return statuses;
  const fs::path log = options.from.empty() ? options.cache / "runs" / "latest" : options.from;
  auto record = read_log(log);
  if (!record) {
    print_error({"`status:` needs the log of an earlier run: " + record.error().message,
                 "--from LOG names one; `ci/lockstep run` makes one"});
    return tl::unexpected(Exit::usage);
  }
  for (const Verdict& verdict : record->verdicts) {
    std::vector<std::string>& words = statuses[verdict.id];
    words = {std::string(info(verdict.status).name), std::string(name_of(verdict.standing))};
    if (verdict.fails(options.strict)) words.emplace_back("failing");
  }
  return statuses;
}

Result<Registry> dump_registry(const Options& options) {
  auto scratch = Scratch::create();
  if (!scratch) return tl::unexpected(scratch.error());
  const fs::path file = scratch->path() / "schemas.json", log = scratch->path() / "stderr";
  Spawn dump{{eager_executable(options).string(), "schemas"}, {}, {}, file, log};
  for (const fs::path& library : options.libraries) dump.argv.push_back(library.string());
  if (auto done = run_to_end(dump); !done) {
    return fail("lockstep-eager cannot dump the operator schemas: " + done.error().message,
                options.libraries.empty() ? "build again: remove .lockstep/build"
                                          : "`ci/lockstep doctor` says whether it works without "
                                            "--library");
  }
  return Registry::read(file);
}

tl::expected<std::optional<Registry>, Exit> read_registry(const Options& options) {
  if (options.libraries.empty()) {
    auto dumped = Registry::read(beside_binary("schemas.json"));
    return dumped ? std::optional(std::move(*dumped)) : std::nullopt;
  }
  for (const fs::path& library : options.libraries) {
    std::error_code error;
    if (fs::is_regular_file(library, error)) continue;
    print_error({fmt::format("found --library {}, expected a file that exists", library.string()),
                 "it names the shared object (.so) that a build of your operators makes"});
    return tl::unexpected(Exit::usage);
  }
  auto dumped = dump_registry(options);
  if (dumped) return std::optional(std::move(*dumped));
  print_error(dumped.error());
  return tl::unexpected(Exit::internal);
}

Result<Home> read_files(const Options& options, Diagnostics& diagnostics) {
  Home home;
  auto suite = read_suite(options.home, diagnostics);
  if (!suite) return tl::unexpected(suite.error());
  home.suite = std::move(*suite);
  const std::size_t before = diagnostics.size();
  home.paths = read_paths(options.home / "runner" / "paths", options.path_files, diagnostics);
  // Of a path whose file is wrong nobody has misspelt the name.
  if (diagnostics.size() == before) home.names = known_names(home.paths);
  for (const CaseFile& file : home.suite) check_names(file, home.names, diagnostics);
  if (!options.no_expectations)
    home.expectations = read_expectations(options.home, home.names, diagnostics);
  return home;
}

tl::expected<Home, Exit> read_home(const Options& options) {
  Diagnostics diagnostics;
  auto home = read_files(options, diagnostics);
  if (!home) {
    print_error(home.error());
    return tl::unexpected(Exit::usage);
  }
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return tl::unexpected(Exit::usage);
  }
  auto registry = read_registry(options);
  if (!registry) return tl::unexpected(registry.error());
  home->registry = std::move(*registry);
  expand_sweeps(home->suite, home->registry ? &*home->registry : nullptr);
  std::vector<fs::path> extra = options.path_files;
  extra.insert(extra.end(), options.libraries.begin(), options.libraries.end());
  home->digest = digest_of(options.home, extra);
  return std::move(*home);
}

tl::expected<Filter, Exit> selection(const Options& options, const std::vector<Path>& paths,
                                     std::string& level) {
  std::vector<std::string> terms = options.select, level_filter;
  // Terms that only exclude take away from the level.
  const bool selects = std::any_of(terms.begin(), terms.end(),
                                   [](const std::string& term) { return !term.starts_with('!'); });
  level = !options.level.empty() ? options.level : selects ? "" : "smoke";
  if (!level.empty() && level != "all") {
    auto found = level_terms(options, level);
    if (!found) {
      print_error(found.error());
      return tl::unexpected(Exit::usage);
    }
    level_filter = std::move(*found);
  }
  for (const std::string& path : options.paths) terms.push_back("path:" + path);
  for (const std::string& device : options.devices) terms.push_back("device:" + device);
  auto filter = Filter::parse(terms);
  auto of_level = Filter::parse(level_filter);
  if (!filter || !of_level) {
    print_error(filter ? of_level.error() : filter.error());
    return tl::unexpected(Exit::usage);
  }
  if (auto known = check_paths(*filter, paths); !known) {
    print_error(known.error());
    return tl::unexpected(Exit::usage);
  }
  return filter->within(*of_level);
}

PlanRequest offline_request(const Home& home, const Options& options, const Filter& filter) {
  return {&home.suite,
          home.paths,
          options.devices.empty() ? std::vector<std::string>{"cpu"} : options.devices,
          filter,
          {home.registry ? &*home.registry : nullptr, "cpu", true}};
}

Exit nothing_selected(const PlanRequest& request) {
  fmt::print(stderr, "lockstep: nothing is selected\n");
  for (const std::string& id : request.filter.ids()) {
    const std::string near = nearest_id(request, id);
    if (!near.empty() && near != id) fmt::print(stderr, "    `{}`: did you mean `{}`?\n", id, near);
  }
  for (const char* kind : {"tag", "op", "dtype", "path", "device"}) {
    for (const std::string& word : request.filter.patterns(kind)) {
      const std::string near = nearest_word(request, kind, word);
      if (!near.empty() && near != word)
        fmt::print(stderr, "    `{}:{}`: did you mean `{}:{}`?\n", kind, word, kind, near);
    }
  }
  const std::vector<std::string> missed = missed_cases(request);
  for (const std::string& line : missed) fmt::print(stderr, "    {}\n", line);
  for (const std::string& device : request.filter.patterns("device")) {
    const bool here =
        std::any_of(request.devices.begin(), request.devices.end(),
                    [&](const std::string& name) { return glob_match(device, name); });
    if (!here)
      fmt::print(stderr, "    there is no device `{}` here, only {}\n", device,
                 enumerate(request.devices));
  }
  if (missed.empty()) fmt::print(stderr, "    `ci/lockstep list --level all` prints every id\n");
  return Exit::nothing;
}

}  // namespace lockstep
