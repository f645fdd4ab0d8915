#include "commands/selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "commands/errors.h"
#include "commands/own_cases.h"
#include "plan/level.h"
#include "plan/names.h"
#include "plan/terms.h"
#include "record/log.h"
#include "record/tally.h"
#include "reports/marks.h"
#include "verdict/cause.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

fs::path path_of_level(const Options& options, const std::string& name) {
  return options.suite / "expected" / "levels" / (name + ".json");
}

/// The level, which the session then has to itself.
Result<Level> level_of(const Options& options, Session& session, const std::string& name) {
  const fs::path file = path_of_level(options, name);
  auto text = read_file(file);
  if (!text) {
    return fail(fmt::format("there is no level `{}`", name),
                suggestion(name, level_names(options)));
  }
  JsonFile json{file.lexically_relative(options.suite).generic_string(), std::move(*text), {}};
  Diagnostics diagnostics;
  parse_json(json, diagnostics);
  Level level;
  if (diagnostics.empty()) level = decode_level(json, diagnostics);
  if (diagnostics.empty()) {
    session.use(level);
    check_frozen(json, level, session.suite().cases, session.operators(), diagnostics);
  }
  if (diagnostics.size() > 1) {
    diagnostics.front().message +=
        fmt::format(", and {} more of the level like it", diagnostics.size() - 1);
  }
  if (!diagnostics.empty()) return fail(to_string(diagnostics.front()));
  return level;
}

/// What is run where nothing is selected: a suite of one's own need have no levels.
std::string default_level(const Options& options) {
  std::error_code error;
  return fs::exists(path_of_level(options, "smoke"), error) ? "smoke" : "all";
}

/// The paths that mean every rung, or those below the paths that the filter asks for.
std::vector<std::string> rungs_of(const Filter& filter, const std::vector<Path>& paths) {
  std::map<std::string, std::string> above;
  std::set<std::string> rungs, asked;
  for (const Path& path : paths) above[path.name] = path.above;
  for (const Path& path : paths) {
    if (above.contains(path.above)) rungs.insert({path.name, path.above});
  }
  for (const std::string& glob : filter.patterns("path")) {
    for (const Path& path : paths) {
      if (glob_match(glob, path.name)) asked.insert(path.name);
    }
  }
  for (const std::string& id : filter.ids()) {
    const std::size_t at = id.find('@'), slash = id.find('/', at);
    if (at != std::string::npos && slash != std::string::npos) asked.insert(id.substr(slash + 1));
  }
  if (!asked.empty()) {
    rungs.clear();
    for (std::string path : asked) {
      while (above.contains(path) && rungs.insert(path).second) path = above[path];
    }
  }
  return {rungs.begin(), rungs.end()};
}

/// SELECT, --path and --device, the words taken apart that came after --path and --device.
struct Chosen {
  std::vector<std::string> select, paths, devices;
};

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts = {""};
  for (const char character : text) {
    if (character == ',') {
      parts.emplace_back();
    } else {
      parts.back() += character;
    }
  }
  return parts;
}

Chosen chosen(const Options& options, const Suite& suite, const std::vector<std::string>& kinds) {
  const std::vector<Path>& paths = suite.paths;
  Chosen result{{}, options.paths, options.devices};
  const auto select = [&](const std::string& word) {
    if (!names_own_cases(word, options)) {
      result.select.push_back(word);
      return;
    }
    for (const std::string& id : suite.own.at(own_cases_of(word, options)))
      result.select.push_back("id:" + id);
  };
  const auto is_path = [&](std::string_view word) {
    return std::any_of(paths.begin(), paths.end(),
                       [&](const Path& path) { return glob_match(word, path.name); });
  };
  const auto is_device = [&](std::string_view word) {
    return std::any_of(kinds.begin(), kinds.end(), [&](const std::string& kind) {
      return glob_match(word.substr(0, word.find(':')), kind);
    });
  };
  for (const std::string& text : options.select) {
    const FollowingWords* list = following_words(options, text);
    if (list == nullptr) {
      select(text);
      continue;
    }
    bool goes_on = true;
    for (const std::string& word : list->words) {
      std::vector<std::string> names = split_at_commas(word);
      goes_on = goes_on && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
                  return list->of_devices ? is_device(name) : is_path(name);
                });
      if (!goes_on) {
        select(word);
        continue;
      }
      std::vector<std::string>& names_of = list->of_devices ? result.devices : result.paths;
      names_of.insert(names_of.end(), names.begin(), names.end());
    }
  }
  return result;
}

/// What a log says of a verdict, for each kind of term that looks there.
LogWords words_of(const Verdict& verdict, bool strict) {
  LogWords said;
  const auto add = [&](std::string_view kind, std::string_view word, bool holds = true) {
    if (holds && !word.empty()) said[std::string(kind)].emplace_back(word);
  };
  add("status", info(verdict.status).name);
  add("status", name_of(verdict.standing));
  add("status", "failing", verdict.fails(strict));
  add("status", "departing", info(verdict.status).departs());
  const Column column = column_of(verdict, strict);
  for (const ColumnInfo& each : all_columns()) add("is", each.name, each.column == column);
  for (const std::string_view mark : marks_of(verdict)) add("is", mark);
  add("standing", name_of(verdict.standing));
  if (verdict.grade) add("grade", name_of(*verdict.grade));
  add("stage", verdict.stage);
  add("nearer", verdict.nearer);
  for (const Cause& cause : causes_of(verdict)) add("cause", cause.name);
  add("reason", verdict.reason);
  if (verdict.expectation) {
    add("because", verdict.expectation->because);
    add("reason", verdict.expectation->reason);
  }
  return said;
}

/// The words of the kinds that are closed lists.
LogWords closed_lists() {
  LogWords said;
  for (const StandingInfo& each : all_standings()) said["standing"].emplace_back(each.name);
  for (const ColumnInfo& each : all_columns()) said["is"].emplace_back(each.name);
  for (const MarkInfo& each : all_marks()) said["is"].emplace_back(each.name);
  said["grade"] = grade_names();
  said["nearer"] = {"compiled", "eager", "both", "ill-conditioned"};
  said["because"] = {"bug", "intended", "undefined", "unreported"};
  return said;
}

/// Read from --from or the latest log where the filter asks for what a log says; else empty.
/// `causes` gets those that are in it.
tl::expected<std::map<std::string, LogWords>, Exit> earlier_words(const Options& options,
                                                                  const Filter& filter,
                                                                  const std::vector<Path>& paths,
                                                                  std::set<std::string>& causes) {
  std::map<std::string, LogWords> earlier;
  if (!filter.mentions(FilterSource::log)) return earlier;
  std::string kind = "status";
  for (const Filter::Term& term : filter.terms()) {
    for (const FilterKind& each : filter_kinds()) {
      if (each.name == term.kind && each.source == FilterSource::log) kind = term.kind;
    }
  }
  const fs::path log = options.from.empty() ? options.cache / "runs" / "latest" : options.from;
  auto record = read_log(log);
  if (!record) {
    print_error(
        {fmt::format("`{}:` needs the log of an earlier run: {}", kind, record.error().message),
         "--from LOG names one; `ci/lockstep run` makes one"});
    return tl::unexpected(Exit::usage);
  }
  for (const Verdict& verdict : record->verdicts) {
    LogWords said = words_of(verdict, options.strict);
    causes.insert(said["cause"].begin(), said["cause"].end());
    if (!options.ladder) {
      earlier[verdict.id] = std::move(said);
      continue;
    }
    for (const Path& path : paths) {
      LogWords& all = earlier[verdict.instance + "/" + path.name];
      for (const auto& [word_kind, words] : said)
        all[word_kind].insert(all[word_kind].end(), words.begin(), words.end());
    }
  }
  return earlier;
}

void print_errors(const std::vector<Error>& errors) {
  for (const Error& error : errors) print_error(error);
}

}  // namespace

std::vector<std::string> level_names(const Options& options) {
  std::vector<std::string> levels = {"all"};
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(path_of_level(options, "all").parent_path(), error)) {
    if (entry.path().extension() == ".json") levels.push_back(entry.path().stem().string());
  }
  std::sort(levels.begin(), levels.end());
  return levels;
}

std::string level_title(const Options& options, const std::string& name) {
  if (name == "all") return "every case";
  Diagnostics ignored;
  const auto file = read_json(path_of_level(options, name), name, ignored);
  if (!file || !file->root.is_object()) return {};
  const auto title = file->root.find("title");
  return title != file->root.end() && title->is_string() ? title->get<std::string>() : "";
}

/// The devices to plan for where no worker says which there are: those of the command line, and in
/// the place of globs the kinds that they mean; of what means all of them, the one that is
/// everywhere.
std::vector<std::string> supposed(const std::vector<std::string>& words,
                                  const std::vector<std::string>& kinds) {
  std::vector<std::string> devices;
  for (const std::string& word : words) {
    if (!has_wildcard(word)) {
      devices.push_back(word);
      continue;
    }
    const std::size_t colon = word.find(':');
    std::vector<std::string> meant;
    for (const std::string& kind : kinds) {
      if (glob_match(word.substr(0, colon), kind))
        meant.push_back(kind + (colon == std::string::npos ? "" : ":0"));
    }
    if (meant.size() == kinds.size()) meant = {"cpu"};
    devices.insert(devices.end(), meant.begin(), meant.end());
  }
  return devices;
}

tl::expected<Selection, Exit> selection(const Options& options, Session& session) {
  const std::vector<Path>& paths = session.suite().paths;
  const std::vector<std::string> kinds = known_names(paths, session.operators()).devices;
  const Chosen words = chosen(options, session.suite(), kinds);
  session.suppose_devices(supposed(words.devices, kinds));
  std::vector<Error> errors;
  std::vector<std::string> more;
  Level level;
  for (const std::string& path : words.paths) more.push_back("path:" + path);
  for (const std::string& device : words.devices) more.push_back("device:" + device);
  // Terms that only exclude take away from the level.
  std::vector<Error> counted_below;
  const bool selects = Filter::parse(words.select, {}, counted_below).asks();
  Selection result;
  result.level = !options.level.empty() ? options.level
                 : selects              ? ""
                 : options.unswept      ? "all"
                                        : default_level(options);
  if (!result.level.empty() && result.level != "all") {
    auto found = level_of(options, session, result.level);
    if (found) {
      level = std::move(*found);
    } else {
      errors.push_back(found.error());
    }
  }
  std::vector<Error> faults;
  Filter filter = Filter::parse(words.select, more, faults);
  filter.search_words([&](const std::string& word) {
    return std::any_of(session.suite().cases.begin(), session.suite().cases.end(),
                       [&](const CaseFile& file) { return file.id == word; });
  });
  Filter of_level = level.filter();
  for (const std::string& term : level.terms) {
    if (const auto parsed = Filter::parse({term}); parsed && parsed->excludes_paths())
      result.path_terms.push_back(term);
  }
  TermContext context{closed_lists(), !executes(options.command)};
  std::set<std::string> causes;
  if (faults.empty() && errors.empty()) {
    auto earlier = earlier_words(options, filter.within(of_level), paths, causes);
    if (!earlier) return tl::unexpected(earlier.error());
    result.earlier = std::move(*earlier);
    context.said["cause"] = {causes.begin(), causes.end()};
  }
  errors.insert(errors.end(), faults.begin(), faults.end());
  // What is well-formed of a filter with faults is looked at, too.
  for (Error& error : unmatched_terms(session.plan_request(filter), context))
    errors.push_back(std::move(error));
  if (!errors.empty()) {
    std::error_code none;
    for (const std::string& word : words.select) {
      if (fs::is_directory(options.directory / word, none))
        errors.push_back({fmt::format("`{}` is a folder here, too", word),
                          fmt::format("`{}/` takes the cases in it", word)});
    }
    print_errors(errors);
    return tl::unexpected(Exit::usage);
  }
  const std::vector<Filter::Term> terms = filter.terms();
  result.every_case = result.level == "all" &&
                      std::all_of(terms.begin(), terms.end(), [](const Filter::Term& term) {
                        return term.kind == "path" || term.kind == "device";
                      });
  // What is a filter stays one with more paths.
  if (options.ladder) filter = filter.on_paths(rungs_of(filter, paths));
  result.filter = filter.within(std::move(of_level));
  return result;
}

tl::expected<std::vector<std::string>, Exit> ids_of_level(const Options& options, Session& session,
                                                          const std::string& name) {
  Options of_level = options;
  of_level.select.clear();
  of_level.paths.clear();
  of_level.level = name;
  const auto taken = selection(of_level, session);
  if (!taken) return tl::unexpected(taken.error());
  return instance_ids(session.plan_request(taken->filter));
}

tl::expected<void, Exit> check_terms(const PlanRequest& request) {
  const std::vector<Error> errors = unmatched_terms(request, {});
  if (errors.empty()) return {};
  print_errors(errors);
  return tl::unexpected(Exit::usage);
}

Exit nothing_selected(const PlanRequest& request) {
  fmt::print(stderr,
             "lockstep: nothing is selected: each term means something, but not together\n");
  const std::vector<std::string> missed = missed_cases(request);
  for (const std::string& line : missed) fmt::print(stderr, "    {}\n", line);
  if (missed.empty()) fmt::print(stderr, "    `ci/lockstep list --level all` prints every id\n");
  return Exit::nothing;
}

}  // namespace lockstep
