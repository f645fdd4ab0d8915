#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

namespace lockstep::eager {

/// What plain eager executed, to count what a suite covers: each use once, in order.
class Uses {
 public:
  /// Notes a call that is about to be made, until `done` says that it returned.
  void begin(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
  void done();

  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::string pending_;
  std::vector<std::string> texts_;
};

/// "aten::sum.dim_IntList float32:transposed dim=[1] keepdim=True": the overload, dtype and layout
/// (design/protocol.md, `uses`) of each tensor operand, and the other arguments that are not their
/// defaults.  No word has a space; at most 240 bytes.
std::string use_text(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

}  // namespace lockstep::eager
