#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <set>

#include "cases/sweep.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/open.h"
#include "commands/selection.h"

namespace lockstep {
namespace {

/// A level that takes these instances on every device, whatever cases the suite gets later.
std::string level_file(const std::vector<std::string>& ids, const std::string& level) {
  std::vector<std::string> select;
  for (const std::string& id : ids) {
    const std::size_t at = id.find('@');
    const std::size_t path = id.find('/', at);
    std::string any_device = id.substr(0, at) + "@*";
    if (path != std::string::npos) any_device += id.substr(path);
    if (select.empty() || select.back() != any_device) select.push_back(std::move(any_device));
  }
  const Json file = {{"format", 1},
                     {"title", level.empty() ? "a selection, frozen" : level + ", frozen"},
                     {"select", select}};
  return file.dump(1) + "\n";
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
      const bool tagged = std::any_of(
          tags.begin(), tags.end(), [&](const std::string& tag) { return overload.has_tag(tag); });
      if (!tagged) continue;
      if (const std::string why = unswept_reason(sweeps, op, overload); !why.empty())
        lines.insert(fmt::format("{}: {}\n", short_name(op, overload), why));
    }
  }
  for (const std::string& line : lines) fmt::print("{}", line);
  return Exit::ok;
}

}  // namespace

Exit command_list(const Options& options) {
  Options quiet = options;
  quiet.no_expectations = true;  // no matter here
  auto session = open_session(quiet);
  if (!session) return session.error();
  auto selected = selection(quiet, *session);
  if (!selected) return selected.error();
  PlanRequest request = session->plan_request(selected->filter);
  request.earlier = &selected->earlier;
  if (options.unswept) return list_unswept(request);
  Diagnostics diagnostics;
  const std::vector<std::string> ids = selected_ids(request, diagnostics);
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  if (ids.empty()) return nothing_selected(request);
  std::string text;
  if (options.as_level) {
    text = level_file(ids, selected->level);
  } else if (options.json) {
    text = Json(ids).dump(1) + "\n";
  } else {
    for (const std::string& id : ids) text += id + "\n";
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  return Exit::ok;
}

}  // namespace lockstep
