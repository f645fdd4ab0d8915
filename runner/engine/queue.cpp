#include "engine/queue.h"

#include <algorithm>
#include <string>
#include <utility>

namespace lockstep {

void ExecutionQueue::add(Execution execution) {
  const auto after = std::upper_bound(
      waiting_.begin(), waiting_.end(), execution.job.order,
      [](std::size_t order, const Execution& other) { return order < other.job.order; });
  waiting_.insert(after, std::move(execution));
}

std::list<Execution> ExecutionQueue::take_batch(Place first, std::size_t slots) {
  const LocalWorker* const worker = first->worker;
  const std::string device = first->device();
  const int threads = first->threads();
  const auto belongs = [&](const Execution& other) {
    return !other.alone && other.worker == worker && other.device() == device &&
           other.threads() == threads;
  };
  std::size_t most = worker->batch_for(device);
  largest_batch_ = std::max(largest_batch_, most);
  if (first->alone) most = 1;
  if (most > 1) {
    const auto all = static_cast<std::size_t>(std::count_if(first, waiting_.end(), belongs));
    most = std::min(most, (all + slots - 1) / slots);
  }
  std::list<Execution> taken;
  taken.splice(taken.end(), waiting_, first++);
  while (taken.size() < most && first != waiting_.end()) {
    const auto next = first++;
    if (belongs(*next)) taken.splice(taken.end(), waiting_, next);
  }
  return taken;
}

Execution ExecutionQueue::take(Place place) {
  Execution execution = std::move(*place);
  waiting_.erase(place);
  return execution;
}

}  // namespace lockstep
