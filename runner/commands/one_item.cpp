#include "commands/one_item.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "commands/errors.h"
#include "commands/open.h"

namespace lockstep {

const PlanItem* compiled_item(const Plan& plan) {
  const PlanItem* chosen = nullptr;
  for (const PlanItem& item : plan.items) {
    const Path& path = plan.paths[item.path];
    if (path.worker != "compiled" || !path.compiles) continue;
    const Path* other = chosen == nullptr ? nullptr : &plan.paths[chosen->path];
    if (other == nullptr || (path.is_default && (!other->is_default || other->above == path.name)))
      chosen = &item;
  }
  return chosen;
}

Error several(const std::vector<Instance>& instances, const std::string& one) {
  constexpr std::size_t kShown = 5;
  std::string message = fmt::format("found {} instances, expected one:", instances.size());
  for (std::size_t i = 0; i < std::min(kShown, instances.size()); ++i)
    message += "\n      " + instances[i].id;
  if (instances.size() > kShown) message += "\n      ...";
  return {message, one + ": name it; `ci/lockstep list` prints all that a SELECT takes"};
}

tl::expected<OneVerdict, Exit> one_verdict(const Options& options, const std::string& one) {
  auto session = open_session(options);
  if (!session) return tl::unexpected(session.error());
  auto selected = selection(options, *session);
  if (!selected) return tl::unexpected(selected.error());
  if (auto ready = session->start({}).and_then([&] { return session->meet_torch(); }); !ready) {
    if (interrupted()) return tl::unexpected(Exit::interrupted);
    print_error(ready.error());
    return tl::unexpected(Exit::internal);
  }
  PlanRequest request = session->plan_request(selected->filter);
  request.earlier = &selected->earlier;
  request.alone = true;
  Diagnostics diagnostics;
  Plan plan = make_plan(request, diagnostics);
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return tl::unexpected(Exit::usage);
  }
  if (plan.items.empty()) return tl::unexpected(nothing_selected(request));
  if (plan.instances.size() > 1) {
    print_error(several(plan.instances, one));
    return tl::unexpected(Exit::usage);
  }
  const PlanItem* compiled = compiled_item(plan);
  const std::size_t chosen =
      compiled == nullptr ? 0 : static_cast<std::size_t>(compiled - plan.items.data());
  return OneVerdict{std::move(*session), std::move(*selected), std::move(plan), chosen};
}

Trials::Clock::time_point deadline_of(const Options& options) {
  return Trials::Clock::now() + std::chrono::duration_cast<Trials::Clock::duration>(
                                    std::chrono::duration<double>(options.seconds));
}

}  // namespace lockstep
