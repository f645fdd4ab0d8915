#include "explain/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/one_item.h"
#include "engine/scratch.h"
#include "reports/explanation.h"
#include "reports/terminal.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The names of a path and of those below it, lowest first.
std::vector<std::string> down_from(const std::string& name, const std::vector<Path>& paths) {
  std::vector<std::string> way;
  for (std::string next = name; !next.empty() && !contains(way, next);) {
    way.push_back(next);
    const auto path = std::find_if(paths.begin(), paths.end(),
                                   [&](const Path& each) { return each.name == next; });
    next = path == paths.end() ? "" : path->above;
  }
  std::reverse(way.begin(), way.end());
  return way;
}

/// The rungs on which an instance can be executed here, its own path last.
Result<std::vector<Path>> rungs_of(const Plan& plan, const PlanItem& item, Session& session,
                                   const Filter& filter) {
  const Path& path = plan.paths[item.path];
  const std::vector<std::string> names = down_from(path.name, session.suite().paths);
  PlanRequest request = session.plan_request(filter.on_paths(names));
  auto absent = session.leave_out_absent(request, true);
  if (!absent) return tl::unexpected(absent.error());
  Diagnostics diagnostics;
  const Plan ladder = make_plan(request, diagnostics);
  std::vector<Path> rungs;
  for (const std::string& name : names) {
    for (const PlanItem& rung : ladder.items) {
      const bool fits = ladder.instances[rung.instance].id == plan.instances[item.instance].id &&
                        ladder.paths[rung.path].name == name && rung.declared.unsupported.empty();
      if (fits && name != path.name) rungs.push_back(ladder.paths[rung.path]);
    }
  }
  rungs.push_back(path);
  return rungs;
}

/// The knobs that Lockstep has, and those of the user.
std::optional<KnobTable> knobs_of(const Options& options) {
  Diagnostics diagnostics;
  KnobTable table = read_knobs(options.home / "runner" / "explain" / "knobs.json", diagnostics);
  if (!options.knobs_file.empty()) {
    KnobTable own = read_knobs(options.knobs_file, diagnostics);
    table.knobs.insert(table.knobs.end(), own.knobs.begin(), own.knobs.end());
    table.bisected.insert(table.bisected.begin(), own.bisected.begin(), own.bisected.end());
  }
  if (diagnostics.empty()) return table;
  print_diagnostics(diagnostics);
  return std::nullopt;
}

}  // namespace

Exit command_explain(const Options& options) {
  watch_for_interrupts();
  auto table = knobs_of(options);
  if (!table) return Exit::usage;
  auto asked = one_verdict(options, "an explanation is of one");
  if (!asked) return asked.error();
  Session& session = asked->session;
  auto rungs = rungs_of(asked->plan, asked->item(), session, asked->selection.filter);
  auto scratch = Scratch::create();
  if (!rungs || !scratch) {
    if (interrupted()) return Exit::interrupted;
    print_error(rungs ? scratch.error() : rungs.error());
    return Exit::internal;
  }
  const Instance& instance = asked->plan.instances[asked->item().instance];
  Trials trials(session.engine(), session.scheduler_options(), instance.device,
                deadline_of(options));
  const Explanation explanation = explain(
      {asked->item().id, instance.declared, std::move(*rungs), std::move(*table),
       session.environment().value("torch", std::string()), session.operators(), scratch->path()},
      trials);
  if (interrupted()) return Exit::interrupted;
  const Terminal terminal = real_terminal();
  const bool color = options.out.empty() &&
                     use_color(terminal, terminal.out_is_terminal, color_choice(options.color));
  const std::string text = options.json ? to_json(explanation).dump(1) + "\n"
                                        : explanation_text(explanation, Style(color));
  if (!write_answer(options.out, text)) return Exit::internal;
  return explanation.layer.empty() ? Exit::ok : Exit::failures;
}

}  // namespace lockstep
