#pragma once

#include <functional>
#include <vector>

#include "program/program.h"

namespace lockstep::eager {

/// Puts a context into effect for its lifetime.
class ContextGuard {
 public:
  explicit ContextGuard(const Context& context);
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  void enter(const Context& context);
  void leave();
  std::vector<std::function<void()>> undo_;  ///< run last to first
};

}  // namespace lockstep::eager
