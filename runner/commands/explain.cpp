#include "explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/one_item.h"
#include "commands/open.h"
#include "commands/selection.h"
#include "engine/scratch.h"
#include "reports/explanation.h"
#include "reports/terminal.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The verdict that is meant: of several paths one that compiles.
const PlanItem* meant(const Plan& plan) {
  const PlanItem* compiled = compiled_item(plan);
  return plan.items.size() > 1 && compiled != nullptr ? compiled : &plan.items.front();
}

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
  const auto began = Trials::Clock::now();
  auto table = knobs_of(options);
  if (!table) return Exit::usage;
  auto session = open_session(options);
  if (!session) return session.error();
  auto selected = selection(options, *session);
  if (!selected) return selected.error();
  if (auto ready = session->start({}).and_then([&] { return session->meet_torch(); }); !ready) {
    if (interrupted()) return Exit::interrupted;
    print_error(ready.error());
    return Exit::internal;
  }
  PlanRequest request = session->plan_request(selected->filter);
  request.earlier = &selected->earlier;
  request.alone = true;
  Diagnostics diagnostics;
  const Plan plan = make_plan(request, diagnostics);
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  if (plan.items.empty()) return nothing_selected(request);
  if (plan.instances.size() > 1) {
    print_error(several(plan.instances, "an explanation is of one"));
    return Exit::usage;
  }
  const PlanItem* item = meant(plan);
  auto rungs = rungs_of(plan, *item, *session, selected->filter);
  auto scratch = Scratch::create();
  if (!rungs || !scratch) {
    if (interrupted()) return Exit::interrupted;
    print_error(rungs ? scratch.error() : rungs.error());
    return Exit::internal;
  }
  const Instance& instance = plan.instances[item->instance];
  Trials trials(session->engine(), session->scheduler_options(), instance.device,
                began + std::chrono::duration_cast<Trials::Clock::duration>(
                            std::chrono::duration<double>(options.seconds)));
  const Explanation explanation = explain(
      {item->id, instance.declared, std::move(*rungs), std::move(*table),
       session->environment().value("torch", std::string()), session->operators(), scratch->path()},
      trials);
  if (interrupted()) return Exit::interrupted;
  const Terminal terminal = real_terminal();
  const bool color = options.out.empty() &&
                     use_color(terminal, terminal.out_is_terminal, color_choice(options.color));
  const std::string text = options.json ? to_json(explanation).dump(1) + "\n"
                                        : explanation_text(explanation, Style(color));
  if (options.out.empty()) {
    fmt::print("{}", text);
  } else if (!(std::ofstream(options.out) << text).flush()) {
    print_error({fmt::format("cannot write {}", options.out.string()), ""});
    return Exit::internal;
  }
  return explanation.layer.empty() ? Exit::ok : Exit::failures;
}

}  // namespace lockstep
