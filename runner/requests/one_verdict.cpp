#include "requests/one_verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/launcher.h"
#include "requests/open.h"

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
  return {message, one + ": name it; " + typed("list") + " prints all that a SELECT takes"};
}

Answer<OneVerdict> prepare_one(const Basis& basis, const std::string& one, const Means& means) {
  auto opened = open_session(basis, Torch::needed);
  if (!opened) return tl::unexpected(opened.error());
  OneVerdict asked{std::make_unique<Session>(std::move(*opened)), {}, {}};
  auto selected = selection(basis, *asked.session);
  if (!selected) return tl::unexpected(selected.error());
  asked.selection = std::move(*selected);
  auto started = start(*asked.session, asked.selection.filter, {}, means);
  if (!started) return tl::unexpected(started.error());
  PlanRequest request = asked.session->plan_request(asked.selection.filter);
  request.earlier = &asked.selection.earlier;
  request.relations = basis.choice.relations;
  request.alone = true;
  auto plan = plan_of(request);
  if (!plan) return tl::unexpected(plan.error());
  if (plan->instances.size() > 1) return refuse(Exit::usage, several(plan->instances, one));
  asked.plan = std::move(*plan);
  if (const PlanItem* compiled = compiled_item(asked.plan))
    asked.chosen = static_cast<std::size_t>(compiled - asked.plan.items.data());
  return asked;
}

Trials::Clock::time_point deadline_in(double seconds) {
  return Trials::Clock::now() + std::chrono::duration_cast<Trials::Clock::duration>(
                                    std::chrono::duration<double>(seconds));
}

}  // namespace lockstep
