#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/text.h"
#include "cases/decode.h"
#include "cases/sweep.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/open.h"
#include "commands/selection.h"
#include "commands/words.h"
#include "reports/closing.h"

namespace lockstep {
namespace {

/// A level that takes these instances on every device, whatever cases the suite gets later, on the
/// paths that the selection names, or but for those that its level excludes.
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
  return frozen_level(ids, chosen.level.empty() ? "a selection, frozen" : chosen.level + ", frozen",
                      terms, session.suite().cases, session.operators());
}

/// Of the sweeps that are selected, every overload that none of them takes, with the reason.
Exit list_unswept(const PlanRequest& request) {
  const Registry* registry = request.context.registry;
  if (registry == nullptr) {
    print_error({"there is no dump of the operator schemas, over which sweeps go",
                 "`ci/lockstep` builds it"});
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
  if (sweeps.empty()) return nothing_selected(request);
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
tl::expected<std::map<std::string, std::vector<std::string>>, Exit> levels_of_instances(
    const Options& options, Session& session) {
  std::map<std::string, std::vector<std::string>> levels;
  for (const std::string& name : level_names(options)) {
    if (name == "all") continue;
    const auto ids = ids_of_level(options, session, name);
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

/// What an expectation says of the cases that it names: "bug: value_differs on inductor*".
std::string known_text(const Expectation& rule) {
  const std::string what = rule.causes.empty() ? std::string(info(rule.status).name)
                                               : fmt::format("{}", fmt::join(rule.causes, ", "));
  return fmt::format("{}: {} on {}{}", rule.because, what, fmt::join(rule.paths, ", "),
                     rule.torch.empty() ? "" : " with torch " + rule.torch);
}

/// The cases of these ids: what each says, where it comes from, and what is known of it.
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

/// How many verdicts there are on each path, and how many of what there are in all.
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

void write(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

Exit command_list(const Options& options) {
  Options quiet = options;
  const bool of_cases = options.markdown && options.words.empty();
  quiet.no_expectations = !of_cases;  // else no matter here
  auto session = open_session(quiet);
  if (!session) return session.error();
  if (!options.words.empty()) {
    const auto tables = word_tables(options.words, quiet, *session);
    if (!tables) return tables.error();
    write(options.json       ? to_json(*tables)
          : options.markdown ? to_markdown(*tables)
                             : to_text(*tables));
    return Exit::ok;
  }
  auto chosen = selection(quiet, *session);
  if (!chosen) return chosen.error();
  PlanRequest request = session->plan_request(chosen->filter);
  request.earlier = &chosen->earlier;
  if (options.unswept) return list_unswept(request);
  Diagnostics diagnostics;
  std::string text;
  std::vector<std::string> ids;
  if (options.json) {
    const std::vector<Selected> all = selected(request, diagnostics);
    for (const Selected& each : all) ids.push_back(each.id);
    auto levels = levels_of_instances(quiet, *session);
    if (!levels) return levels.error();
    text = in_json(all, *levels);
  } else {
    ids = selected_ids(request, diagnostics);
    if (of_cases) text = to_markdown({case_table(ids, session->suite(), diagnostics)});
  }
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  if (ids.empty()) return nothing_selected(request);
  if (options.as_level) {
    text = level_file(ids, *chosen, *session);
  } else if (options.count) {
    text = count_text(ids, request.paths);
  } else if (text.empty()) {
    for (const std::string& id : ids) text += id + "\n";
  }
  write(text);
  return Exit::ok;
}

}  // namespace lockstep
