#include "requests/selection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "base/files.h"
#include "base/launcher.h"
#include "base/text.h"
#include "plan/level.h"
#include "plan/names.h"
#include "plan/terms.h"
#include "record/log.h"
#include "record/tally.h"
#include "reports/marks.h"
#include "requests/own_cases.h"
#include "verdict/fingerprint.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

fs::path path_of_level(const fs::path& suite, const std::string& name) {
  return suite / "expected" / "levels" / (name + ".json");
}

/// The level, which the session then has to itself.
Result<Level> level_of(const fs::path& suite, Session& session, const std::string& name) {
  const fs::path file = path_of_level(suite, name);
  auto text = read_file(file, kLargestJson);
  if (std::error_code error; !text && fs::exists(file, error)) return tl::unexpected(text.error());
  if (!text) {
    return fail(fmt::format("there is no level `{}`", name), suggestion(name, level_names(suite)));
  }
  JsonFile json{file.lexically_relative(suite).generic_string(), std::move(*text), {}};
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
        fmt::format(", {} of the level like it", and_more(diagnostics.size() - 1));
  }
  if (!diagnostics.empty()) return fail(to_string(diagnostics.front()));
  return level;
}

/// What is run where nothing is selected: a suite of one's own need have no levels.
std::string default_level(const fs::path& suite) {
  std::error_code error;
  return fs::exists(path_of_level(suite, "smoke"), error) ? "smoke" : "all";
}

/// The paths that mean every layer, or those below the paths that the filter asks for.
std::vector<std::string> layers_of(const Filter& filter, const std::vector<Path>& paths) {
  const std::map<std::string, std::string> above = above_of(paths);
  std::set<std::string> layers, asked;
  for (const Path& path : paths) {
    if (above.contains(path.above)) layers.insert({path.name, path.above});
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
    layers.clear();
    for (const std::string& path : asked) {
      for (const std::string& layer : down_from(path, above)) {
        if (above.contains(layer)) layers.insert(layer);
      }
    }
  }
  return {layers.begin(), layers.end()};
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

/// Takes the words that were behind the values of --path, or of --device, apart.
void take_apart(const std::vector<std::vector<std::string>>& after,
                const std::function<bool(const std::string&)>& is_name,
                std::vector<std::string>& names, std::vector<std::string>& select) {
  for (const std::vector<std::string>& words : after) {
    bool goes_on = true;
    for (const std::string& word : words) {
      const std::vector<std::string> parts = split_at_commas(word);
      goes_on = goes_on && std::all_of(parts.begin(), parts.end(), is_name);
      if (goes_on) {
        names.insert(names.end(), parts.begin(), parts.end());
      } else {
        select.push_back(word);
      }
    }
  }
}

Chosen chosen(const Basis& basis, const Suite& suite, const std::vector<std::string>& kinds) {
  const Choice& choice = basis.choice;
  std::vector<std::string> select = choice.select;
  Chosen result{{}, choice.paths, choice.devices};
  const auto is_path = [&](const std::string& word) {
    return std::any_of(suite.paths.begin(), suite.paths.end(),
                       [&](const Path& path) { return glob_match(word, path.name); });
  };
  const auto is_device = [&](const std::string& word) {
    return std::any_of(kinds.begin(), kinds.end(), [&](const std::string& kind) {
      return glob_match(word.substr(0, word.find(':')), kind);
    });
  };
  take_apart(choice.after_paths, is_path, result.paths, select);
  take_apart(choice.after_devices, is_device, result.devices, select);
  for (const std::string& word : select) {
    if (!names_own_cases(word, basis.at.directory)) {
      result.select.push_back(word);
      continue;
    }
    for (const std::string& id : suite.own.at(own_cases_of(word, basis.at.directory)))
      result.select.push_back("id:" + id);
  }
  return result;
}

/// What a log says of a verdict, for each kind of term that looks there.
LogWords words_of(const Verdict& verdict, bool strict) {
  LogWords said;
  const auto add = [&](std::string_view kind, std::string_view word, bool holds = true) {
    if (holds && !word.empty()) said[std::string(kind)].emplace_back(word);
  };
  add("status", info(verdict.found.status).name);
  add("status", name_of(verdict.account.standing));
  add("status", "failing", verdict.fails(strict));
  add("status", "diverging", info(verdict.found.status).diverges());
  const Column column = column_of(verdict, strict);
  for (const ColumnInfo& each : all_columns()) add("is", each.name, each.column == column);
  for (const std::string_view mark : marks_of(verdict)) add("is", mark);
  add("standing", name_of(verdict.account.standing));
  if (verdict.found.grade) add("grade", name_of(*verdict.found.grade));
  add("stage", verdict.found.stage);
  if (verdict.found.nearer) add("nearer", name_of(*verdict.found.nearer));
  for (const Fingerprint& fingerprint : fingerprints_of(verdict))
    add("fingerprint", fingerprint.name);
  add("reason", verdict.found.reason);
  if (verdict.account.expectation) {
    add("because", name_of(verdict.account.expectation->because));
    add("reason", verdict.account.expectation->reason);
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
  for (const NearerInfo& each : all_nearer()) said["nearer"].emplace_back(each.name);
  for (const BecauseInfo& each : all_because()) said["because"].emplace_back(each.name);
  return said;
}

/// The kind of the last term that needs a log.
std::string kind_of_log(const Filter& filter) {
  std::string kind = "status";
  for (const Filter::Term& term : filter.terms()) {
    for (const FilterKind& each : filter_kinds()) {
      if (each.name == term.kind && each.source == FilterSource::log) kind = term.kind;
    }
  }
  return kind;
}

/// Read from --from or the latest log if the filter needs a log; else empty.
/// `fingerprints` gets those that are in it.
Answer<std::map<std::string, LogWords>> earlier_words(const Basis& basis, bool strict,
                                                      const Filter& filter,
                                                      const std::vector<Path>& paths,
                                                      std::set<std::string>& fingerprints) {
  std::map<std::string, LogWords> earlier;
  if (!filter.mentions(FilterSource::log)) return earlier;
  const Choice& choice = basis.choice;
  auto record = read_log(choice.from.empty() ? basis.at.runs / "latest" : choice.from);
  if (!record)
    return refuse(Exit::usage, {fmt::format("`{}:` needs the log of an earlier run: {}",
                                            kind_of_log(filter), record.error().message),
                                "--from LOG names one; " + typed("run") + " makes one"});
  for (const Verdict& verdict : record->verdicts) {
    LogWords said = words_of(verdict, strict);
    fingerprints.insert(said["fingerprint"].begin(), said["fingerprint"].end());
    if (!choice.ladder) {
      earlier[verdict.facts.id] = std::move(said);
      continue;
    }
    for (const Path& path : paths) {
      LogWords& all = earlier[verdict.facts.instance + "/" + path.name];
      for (const auto& [word_kind, words] : said)
        all[word_kind].insert(all[word_kind].end(), words.begin(), words.end());
    }
  }
  return earlier;
}

/// The devices to plan for if no worker names any: those of the command line, with the kinds that
/// its globs mean. A glob for all of them means the CPU.
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

/// The level that is meant where none is named.
std::string level_unnamed(const Basis& basis, const Chosen& words, const char* unasked) {
  // Terms that only exclude take away from the level.
  std::vector<Error> counted_below;
  if (Filter::parse(words.select, {}, counted_below).asks()) return "";
  return unasked != nullptr ? unasked : default_level(basis.at.suite);
}

/// The filter of the words alone.
Filter filter_of(const Chosen& words, const std::vector<CaseFile>& cases,
                 std::vector<Error>& faults) {
  std::vector<std::string> more;
  for (const std::string& path : words.paths) more.push_back("path:" + path);
  for (const std::string& device : words.devices) more.push_back("device:" + device);
  Filter filter = Filter::parse(words.select, more, faults);
  filter.search_words([&](const std::string& word) {
    return std::any_of(cases.begin(), cases.end(),
                       [&](const CaseFile& file) { return file.id == word; });
  });
  return filter;
}

/// Which of the words name folders, where something is wrong with the words.
void add_folders(const Chosen& words, const fs::path& directory, std::vector<Error>& errors) {
  std::error_code none;
  for (const std::string& word : words.select) {
    if (fs::is_directory(directory / word, none))
      errors.push_back({fmt::format("`{}` is a folder here, too", word),
                        fmt::format("`{}/` takes the cases in it", word)});
  }
}

bool is_of_paths_and_devices(const Filter& filter) {
  const std::vector<Filter::Term> terms = filter.terms();
  return std::all_of(terms.begin(), terms.end(), [](const Filter::Term& term) {
    return term.kind == "path" || term.kind == "device";
  });
}

}  // namespace

std::vector<std::string> level_names(const fs::path& suite) {
  std::vector<std::string> levels = {"all"};
  std::error_code error;
  for (const auto& entry :
       fs::directory_iterator(path_of_level(suite, "all").parent_path(), error)) {
    if (entry.path().extension() == ".json") levels.push_back(entry.path().stem().string());
  }
  std::sort(levels.begin(), levels.end());
  return levels;
}

std::string level_title(const fs::path& suite, const std::string& name) {
  if (name == "all") return "every case";
  Diagnostics ignored;
  const auto file = read_json(path_of_level(suite, name), name, ignored);
  if (!file || !file->root.is_object()) return {};
  const auto title = file->root.find("title");
  return title != file->root.end() && title->is_string() ? title->get<std::string>() : "";
}

Answer<Selection> selection(const Basis& basis, Session& session, const Selecting& rules) {
  const Choice& choice = basis.choice;
  const std::vector<Path>& paths = session.suite().paths;
  const std::vector<std::string> kinds = valid_names(paths, session.operators()).devices;
  const Chosen words = chosen(basis, session.suite(), kinds);
  session.suppose_devices(supposed(words.devices, kinds));
  Selection result;
  result.level = choice.level.empty() ? level_unnamed(basis, words, rules.unasked) : choice.level;
  std::vector<Error> errors, faults;
  Level level;
  if (!result.level.empty() && result.level != "all") {
    auto found = level_of(basis.at.suite, session, result.level);
    if (found) level = std::move(*found);
    if (!found) errors.push_back(found.error());
  }
  Filter filter = filter_of(words, session.suite().cases, faults);
  Filter of_level = level.filter();
  for (const std::string& term : level.terms) {
    if (const auto parsed = Filter::parse({term}); parsed && parsed->excludes_paths())
      result.path_terms.push_back(term);
  }
  TermContext context{closed_lists(), !rules.executes};
  if (faults.empty() && errors.empty()) {
    std::set<std::string> fingerprints;
    auto earlier = earlier_words(basis, rules.strict, filter.within(of_level), paths, fingerprints);
    if (!earlier) return tl::unexpected(earlier.error());
    result.earlier = std::move(*earlier);
    context.said["fingerprint"] = {fingerprints.begin(), fingerprints.end()};
  }
  errors.insert(errors.end(), faults.begin(), faults.end());
  // What is well-formed of a filter with faults is looked at, too.
  for (Error& error : unmatched_terms(session.plan_request(filter), context))
    errors.push_back(std::move(error));
  if (!errors.empty()) {
    add_folders(words, basis.at.directory, errors);
    return tl::unexpected(Failure{Exit::usage, std::move(errors), {}});
  }
  result.every_case = result.level == "all" && is_of_paths_and_devices(filter);
  // What is a filter stays one with more paths.
  if (choice.ladder) filter = filter.on_paths(layers_of(filter, paths));
  result.filter = filter.within(std::move(of_level));
  return result;
}

Answer<std::vector<std::string>> ids_of_level(const Basis& basis, Session& session,
                                              const std::string& name) {
  Basis of_level = basis;
  of_level.choice = {};
  of_level.choice.devices = basis.choice.devices;
  of_level.choice.level = name;
  const auto taken = selection(of_level, session);
  if (!taken) return tl::unexpected(taken.error());
  return instance_ids(session.plan_request(taken->filter));
}

Answer<void> check_terms(const PlanRequest& request) {
  std::vector<Error> errors = unmatched_terms(request, {});
  if (errors.empty()) return {};
  return tl::unexpected(Failure{Exit::usage, std::move(errors), {}});
}

tl::unexpected<Failure> nothing_selected(const PlanRequest& request) {
  std::vector<std::string> missed = missed_cases(request);
  if (missed.empty()) missed.push_back(typed("list --level all") + " prints every id");
  return refuse(
      Exit::nothing,
      {"nothing is selected: each term matches something, but no case matches all of them",
       fmt::format("{}", fmt::join(missed, "\n    "))});
}

Answer<Plan> plan_of(const PlanRequest& request) {
  Diagnostics diagnostics;
  Plan plan = make_plan(request, diagnostics);
  if (!diagnostics.empty()) return refuse(std::move(diagnostics));
  if (request.pathless ? plan.instances.empty() : plan.items.empty())
    return nothing_selected(request);
  return plan;
}

}  // namespace lockstep
