#pragma once

#include <cstddef>
#include <list>

#include "engine/batch.h"

namespace lockstep {

/// Executions that wait for a slot; those with a smaller order stand before the others.
class ExecutionQueue {
 public:
  using Place = std::list<Execution>::iterator;

  void add(Execution execution);
  /// Takes the execution at a place out, and with it, where its worker takes batches, those after
  /// it that one child can take with it: for the same worker and device, none that is to be alone,
  /// and no more than is a slot's share of them.
  std::list<Execution> take_batch(Place first, std::size_t slots);
  /// Takes one out.
  Execution take(Place place);

  Place begin() { return waiting_.begin(); }
  Place end() { return waiting_.end(); }
  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }
  void clear() { waiting_.clear(); }
  /// The most that a batch may have of those for which one was asked.
  std::size_t largest_batch() const { return largest_batch_; }

 private:
  std::list<Execution> waiting_;
  std::size_t largest_batch_ = 1;
};

}  // namespace lockstep
