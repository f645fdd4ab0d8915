#include "commands/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "commands/errors.h"
#include "plan/level.h"
#include "plan/names.h"
#include "record/log.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

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

/// The terms that mean every rung, or those below the paths that `terms` ask for.
std::vector<std::string> down_the_ladder(std::vector<std::string> terms,
                                         const std::vector<Path>& paths) {
  std::map<std::string, std::string> above;
  std::set<std::string> rungs, asked;
  for (const Path& path : paths) above[path.name] = path.above;
  for (const Path& path : paths) {
    if (above.contains(path.above)) rungs.insert({path.name, path.above});
  }
  std::vector<std::string> result;
  for (std::string& term : terms) {
    if (term.starts_with("path:")) {
      for (const Path& path : paths) {
        if (glob_match(std::string_view(term).substr(5), path.name)) asked.insert(path.name);
      }
    } else if (const std::size_t at = term.find('@'), slash = term.find('/', at);
               !term.starts_with('!') && at != std::string::npos && slash != std::string::npos) {
      asked.insert(term.substr(slash + 1));
      term.erase(slash);
    }
    result.push_back(std::move(term));
  }
  if (!asked.empty()) {
    rungs.clear();
    for (std::string path : asked) {
      while (above.contains(path) && rungs.insert(path).second) path = above[path];
    }
  }
  for (const std::string& path : rungs) result.push_back("path:" + path);
  return result;
}

}  // namespace

tl::expected<EarlierStatuses, Exit> earlier_statuses(const Options& options, const Filter& filter,
                                                     const std::vector<Path>& paths) {
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
    std::vector<std::string> words = {std::string(info(verdict.status).name),
                                      std::string(name_of(verdict.standing))};
    if (verdict.fails(options.strict)) words.emplace_back("failing");
    if (info(verdict.status).departs()) words.emplace_back("departing");
    if (!options.ladder) {
      statuses[verdict.id] = std::move(words);
      continue;
    }
    for (const Path& path : paths) {
      std::vector<std::string>& all = statuses[verdict.instance + "/" + path.name];
      all.insert(all.end(), words.begin(), words.end());
    }
  }
  return statuses;
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
  // What is a filter stays one with more paths.
  if (options.ladder) filter = Filter::parse(down_the_ladder(std::move(terms), paths));
  return filter->within(*of_level);
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
                    [&](const std::string& name) { return device_matches(device, name); });
    if (!here)
      fmt::print(stderr, "    there is no device `{}` here, only {}\n", device,
                 enumerate(request.devices));
  }
  if (missed.empty()) fmt::print(stderr, "    `ci/lockstep list --level all` prints every id\n");
  return Exit::nothing;
}

}  // namespace lockstep
