#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/launcher.h"
#include "base/text.h"
#include "cases/decode.h"
#include "cases/sweep.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/words.h"
#include "reports/closing.h"
#include "requests/open.h"
#include "requests/selection.h"

namespace lockstep {
namespace {

/// A level of exactly these instances on every device. Its paths are those of the selection, or all
/// except those that the selected level excludes.
std::string level_file(const std::vector<std::string>& ids, const Selection& chosen,
                       const Session& session) {
  std::vector<std::string> terms = chosen.path_terms;
  std::set<std::string> paths;
  for (const std::string& id : ids) {
    if (const std::size_t slash = id.find('/', id.find('@')); slash != std::string::npos)
      paths.insert(id.substr(slash + 1));
  }
  if (terms.empty()) {
    for (const std::string& path : paths) terms.push_back("path:" + path);
  }
  Level like;
  like.threads = session.settings().pace.threads;
  like.repeat = session.level().repeat;
  return frozen_level(ids, chosen.level.empty() ? "a selection, frozen" : chosen.level + ", frozen",
                      like, terms, session.suite().cases, session.operators());
}

/// Of the sweeps that are selected, every overload that none of them takes, with the reason.
Exit list_unswept(const PlanRequest& request) {
  const Registry* registry = request.context.registry;
  if (registry == nullptr) {
    print_error({"there is no dump of the operator schemas, over which sweeps go",
                 "the first run makes it"});
    return Exit::usage;
  }
  std::vector<Sweep> sweeps;
  std::set<std::string> tags;
  for (const CaseFile& file : *request.suite) {
    if (!is_sweep(file)) continue;
    const std::vector<CaseFile> alone = {file};
    PlanRequest of_file = request;
    of_file.suite = &alone;
    if (instance_ids(of_file).empty()) continue;
    for (Sweep& sweep : sweeps_of(file)) {
      tags.insert(sweep.tag);
      sweeps.push_back(std::move(sweep));
    }
  }
  if (sweeps.empty()) return tell(nothing_selected(request).value());
  std::set<std::string> lines;
  for (const auto& [name, op] : registry->operators()) {
    for (const Overload& overload : op.overloads) {
      if (!std::any_of(tags.begin(), tags.end(),
                       [&](const std::string& tag) { return has_wanted_tag(overload, tag); }))
        continue;
      if (const std::string why = unswept_reason(sweeps, op, overload); !why.empty())
        lines.insert(fmt::format("{}: {}\n", short_name(op, overload), why));
    }
  }
  for (const std::string& line : lines) fmt::print("{}", line);
  return Exit::ok;
}

/// The levels that take each instance, by its id, without `all`.
Answer<std::map<std::string, std::vector<std::string>>> levels_of_instances(const Basis& basis,
                                                                            Session& session) {
  std::map<std::string, std::vector<std::string>> levels;
  for (const std::string& name : level_names(basis.at.suite)) {
    if (name == "all") continue;
    const auto ids = ids_of_level(basis, session, name);
    if (!ids) return tl::unexpected(ids.error());
    for (const std::string& id : *ids) levels[id].push_back(name);
  }
  return levels;
}

std::string in_json(const std::vector<Selected>& all,
                    const std::map<std::string, std::vector<std::string>>& levels) {
  Json list = Json::array();
  for (const Selected& each : all) {
    const Json& root = each.file->file.root;
    const auto title = root.find("title");
    const std::string& id = each.id;
    const auto found = levels.find(id.substr(0, id.find('/', id.find('@'))));
    list.push_back(
        {{"id", id},
         {"title", title != root.end() && title->is_string() ? title->get<std::string>() : ""},
         {"file", each.file->file.name},
         {"operators", each.operators},
         {"dtypes", each.dtypes},
         {"levels", found == levels.end() ? std::vector<std::string>() : found->second}});
  }
  return list.dump(1) + "\n";
}

/// The number of verdicts on each path, and the totals.
std::string count_text(const std::vector<std::string>& ids, const std::vector<Path>& paths) {
  std::map<std::string, std::size_t> on_path;
  std::set<std::string> instances, cases;
  for (const std::string& id : ids) {
    const std::size_t slash = id.find('/', id.find('@'));
    if (slash != std::string::npos) ++on_path[id.substr(slash + 1)];
    instances.insert(id.substr(0, slash));
    cases.insert(id.substr(0, id.find_first_of("[@")));
  }
  std::string text, total;
  std::size_t width = 0;
  for (const auto& [path, count] : on_path) width = std::max(width, path.size());
  for (const Path& path : paths) {
    if (const auto found = on_path.find(path.name); found != on_path.end())
      text += fmt::format("{:<{}}  {:>6}\n", path.name, width, found->second);
  }
  if (!on_path.empty()) total = counted(ids.size(), "verdict") + " of ";
  return text + total + counted(instances.size(), "instance") + " of " +
         counted(cases.size(), "case") + "\n";
}

/// What an expectation says of the cases that it names: "bug: value_diverges on inductor*".
std::string known_text(const Expectation& rule) {
  const std::string what = rule.fingerprints.empty()
                               ? std::string(info(rule.status).name)
                               : fmt::format("{}", fmt::join(rule.fingerprints, ", "));
  return fmt::format("{}: {} on {}{}", name_of(rule.because), what, fmt::join(rule.paths, ", "),
                     rule.torch.empty() ? "" : " with torch " + rule.torch);
}

/// The cases of these ids: title, origin, and what is known of each.
WordTable case_table(const std::vector<std::string>& ids, const Suite& suite,
                     Diagnostics& diagnostics) {
  WordTable table{"cases", {"case", "says", "tags", "report", "known"}, {}};
  std::map<std::string, std::set<std::string>> instances;  // by case
  for (const std::string& id : ids)
    instances[id.substr(0, id.find_first_of("[@"))].insert(
        id.substr(0, id.find('/', id.find('@'))));
  for (const CaseFile& file : suite.cases) {
    const auto of_case = instances.find(file.id);
    if (of_case == instances.end()) continue;
    std::vector<std::string> known;
    for (const Expectation& rule : suite.expectations) {
      std::string text = known_text(rule);
      if (!contains(known, text) &&
          std::any_of(of_case->second.begin(), of_case->second.end(),
                      [&](const std::string& id) { return names(rule, id, file.id); }))
        known.push_back(std::move(text));
    }
    Case header;
    Reader reader(file.file, diagnostics);
    decode_header(reader, {&file.file.root, ""}, header);
    table.rows.push_back({file.id, header.title, fmt::format("{}", fmt::join(header.tags, ", ")),
                          header.links.empty() ? "" : header.links.front(),
                          fmt::format("{}", fmt::join(known, "; "))});
  }
  return table;
}

void write(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

/// Refuses what cannot be printed together.
Answer<void> check(const ListOptions& options) {
  const int others =
      options.unswept + options.as_level + options.count + static_cast<int>(options.words.size());
  const int forms = options.words.empty() ? options.json + options.markdown : 0;
  if (others + forms > 1)
    return refuse(Exit::usage,
                  {"found several of --count, --as-level, --unswept, --paths, --levels, --policies "
                   "and --statuses, expected one",
                   "--json or --markdown goes with the last four, and with none of them"});
  return {};
}

Exit list_words(const ListOptions& options, const Basis& basis, Session& session) {
  const auto tables = word_tables(options.words.front(), basis, session);
  if (!tables) return tell(tables.error());
  write(options.json       ? to_json(*tables)
        : options.markdown ? to_markdown(*tables)
                           : to_text(*tables));
  return Exit::ok;
}

/// Prints the ids of a request in the form that it asks for.
Answer<std::string> text_of(const ListOptions& options, const PlanRequest& request,
                            const Selection& chosen, Session& session) {
  Diagnostics diagnostics;
  std::vector<Selected> all;
  std::vector<std::string> ids;
  if (options.json) {
    all = selected(request, diagnostics);
    for (const Selected& each : all) ids.push_back(each.id);
  } else {
    ids = selected_ids(request, diagnostics);
  }
  if (!diagnostics.empty()) return refuse(std::move(diagnostics));
  if (ids.empty()) return nothing_selected(request);
  if (options.markdown) {
    std::string text = to_markdown({case_table(ids, session.suite(), diagnostics)});
    return diagnostics.empty() ? Answer<std::string>(std::move(text))
                               : refuse(std::move(diagnostics));
  }
  if (options.json) {
    auto levels = levels_of_instances(options.basis, session);
    if (!levels) return tl::unexpected(levels.error());
    return in_json(all, *levels);
  }
  if (options.as_level) return level_file(ids, chosen, session);
  if (options.count) return count_text(ids, request.paths);
  return fmt::format("{}\n", fmt::join(ids, "\n"));
}

}  // namespace

Exit command_list(const ListOptions& options) {
  if (auto checked = check(options); !checked) return tell(checked.error());
  Basis basis = options.basis;
  basis.files.expectations = options.markdown && options.words.empty();  // else no matter
  // Never freed: the end of the process does that at once; taking it apart takes a tenth of the
  // time.
  static Answer<Session>* opened = nullptr;
  opened = new Answer<Session>(open_session(basis));
  if (!*opened) return tell(opened->error());
  Session& session = **opened;
  if (!options.words.empty()) return list_words(options, basis, session);
  auto chosen = selection(basis, session, {false, false, options.unswept ? "all" : nullptr});
  if (!chosen) return tell(chosen.error());
  PlanRequest request = session.plan_request(chosen->filter);
  request.earlier = &chosen->earlier;
  if (options.unswept) return list_unswept(request);
  const auto text = text_of(options, request, *chosen, session);
  if (!text) return tell(text.error());
  write(*text);
  return Exit::ok;
}

}  // namespace lockstep
