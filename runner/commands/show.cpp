#include <fmt/format.h>

#include "base/text.h"
#include "cases/show.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/open.h"
#include "commands/selection.h"

namespace lockstep {

Exit command_show(const Options& options) {
  auto session = open_session(options);
  if (!session) return session.error();
  auto selected = selection(options, *session);
  if (!selected) return selected.error();
  PlanRequest request = session->plan_request(selected->filter);
  request.earlier = &selected->earlier;
  request.pathless = true;
  Diagnostics diagnostics;
  const Plan plan = make_plan(request, diagnostics);
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  if (plan.instances.empty()) return nothing_selected(request);
  bool first = true;
  for (const Instance& instance : plan.instances) {
    fmt::print("{}{}", first ? "" : "\n", show_case(*instance.declared, instance.id));
    first = false;
    bool heading = false;
    for (const Expectation& rule : session->suite().expectations) {
      const auto meant = [&](const std::string& glob) {
        return glob_match(glob, instance.id) || glob_match(glob, instance.declared->id);
      };
      if (std::none_of(rule.instances.begin(), rule.instances.end(), meant)) continue;
      if (!heading) fmt::print("\nexpected\n");
      heading = true;
      fmt::print("  {} on {}{}: {} ({})\n    {} {}\n", info(rule.status).name,
                 enumerate(rule.paths), rule.torch.empty() ? "" : ", torch " + rule.torch,
                 name_of(rule.because), rule.where, rule.reason, rule.link);
    }
  }
  return Exit::ok;
}

}  // namespace lockstep
