#include <fmt/format.h>

#include "base/text.h"
#include "cases/show.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "requests/open.h"
#include "requests/selection.h"

namespace lockstep {

namespace {

/// What is known of an instance.
void print_expected(const Instance& instance, const std::vector<Expectation>& rules) {
  bool heading = false;
  for (const Expectation& rule : rules) {
    const auto meant = [&](const std::string& glob) {
      return glob_match(glob, instance.id) || glob_match(glob, instance.declared->id);
    };
    if (std::none_of(rule.instances.begin(), rule.instances.end(), meant)) continue;
    if (!heading) fmt::print("\nexpected\n");
    heading = true;
    print_people(stdout, fmt::format("  {} on {}{}: {} ({})\n    {} {}\n", info(rule.status).name,
                                     enumerate(rule.paths),
                                     rule.torch.empty() ? "" : ", torch " + rule.torch,
                                     name_of(rule.because), rule.where, rule.reason, rule.link));
  }
}

}  // namespace

Exit command_show(const ShowOptions& options) {
  auto session = open_session(options.basis);
  if (!session) return tell(session.error());
  auto selected = selection(options.basis, *session);
  if (!selected) return tell(selected.error());
  PlanRequest request = session->plan_request(selected->filter);
  request.earlier = &selected->earlier;
  request.pathless = true;
  const auto plan = plan_of(request);
  if (!plan) return tell(plan.error());
  bool first = true;
  for (const Instance& instance : plan->instances) {
    print_people(
        stdout, (first ? "" : "\n") + show_case(*instance.declared, instance.id, WithSources::yes));
    first = false;
    print_expected(instance, session->suite().expectations);
  }
  return Exit::ok;
}

}  // namespace lockstep
