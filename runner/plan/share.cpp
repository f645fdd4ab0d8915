#include "plan/share.h"

#include <algorithm>

#include "program/edit.h"

namespace lockstep {
namespace {

std::uint64_t input_bytes(const Case& declared) {
  std::uint64_t bytes = 0;
  for (const CallSpec& call : declared.calls) {
    for (const InputSpec& input : call.inputs) {
      const auto* tensor = std::get_if<TensorSpec>(&input.value);
      if (tensor == nullptr || tensor->dtype == nullptr || !tensor->view_of.empty()) continue;
      bytes += static_cast<std::uint64_t>(tensor->storage_elements) *
               static_cast<std::uint64_t>(tensor->dtype->bytes);
    }
  }
  return bytes;
}

/// What must be equal in programs that become one: everything that holds for a whole program.
bool fit_together(const Instance& a, const Instance& b) {
  const Case& left = *a.declared;
  const Case& right = *b.declared;
  return left.share && right.share && a.device == b.device && left.seed == right.seed &&
         left.threads == right.threads && can_splice(left.program, right.program);
}

}  // namespace

void gather(Plan& plan) {
  std::vector<std::vector<std::size_t>> kinds;  // of one case
  std::vector<std::size_t> order;
  const auto finish_case = [&] {
    for (const std::vector<std::size_t>& kind : kinds)
      order.insert(order.end(), kind.begin(), kind.end());
    kinds.clear();
  };
  for (std::size_t i = 0; i < plan.instances.size(); ++i) {
    const Instance& instance = plan.instances[i];
    if (i > 0 && plan.instances[i - 1].declared->id != instance.declared->id) finish_case();
    const auto fits = [&](const std::vector<std::size_t>& kind) {
      return fit_together(plan.instances[kind.front()], instance);
    };
    const auto kind = instance.declared->share ? std::ranges::find_if(kinds, fits) : kinds.end();
    if (kind == kinds.end()) {
      kinds.push_back({i});
    } else {
      kind->push_back(i);
    }
  }
  finish_case();
  reorder(plan, order);
}

void share(Plan& plan, bool alone) {
  std::size_t members = 0;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < plan.instances.size(); ++i) {
    Instance& instance = plan.instances[i];
    const std::uint64_t own = input_bytes(*instance.declared);
    const bool joins = !alone && i > 0 && members < kMostShared &&
                       bytes + own <= kMostSharedBytes &&
                       fit_together(plan.instances[i - 1], instance);
    if (!joins) members = bytes = 0;
    ++members;
    bytes += own;
    instance.shared_graph = i == 0 ? 0 : plan.instances[i - 1].shared_graph + (joins ? 0 : 1);
  }
}

}  // namespace lockstep
