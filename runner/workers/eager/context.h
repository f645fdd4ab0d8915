#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace lockstep::eager {

/// Puts a context of the protocol into effect for its lifetime: `grad`, `inference`,
/// `deterministic_algorithms`, `autocast`, `default_dtype`.  A key that it does not know throws
/// Unsupported, since ignoring it would execute another program.
class ContextGuard {
 public:
  explicit ContextGuard(const nlohmann::json& context);
  ~ContextGuard();
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(const ContextGuard&) = delete;

 private:
  void enter(const std::string& key, const nlohmann::json& value);
  void leave();
  std::vector<std::function<void()>> undo_;  ///< run last to first
};

}  // namespace lockstep::eager
