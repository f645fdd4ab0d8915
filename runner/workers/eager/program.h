#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "program/program.h"
#include "workers/eager/gold.h"
#include "workers/eager/tensors.h"
#include "workers/eager/values.h"

namespace lockstep::eager {

/// Where the tensors of an execution come from.
struct Sources {
  const std::vector<StorageFile>& files;
  const Json& literals;  ///< views of the program's literal tensors, by their index
  c10::Device device;
};

/// One execution of one call of a program: a scope of names and the steps that fill it.
class Interpreter {
 public:
  /// `inputs` maps names to views or scalar values.
  Interpreter(const Sources& sources, Mode mode, const nlohmann::json& inputs);

  /// Executes steps under a context.  What torch raises passes through.
  void run(const std::vector<Step>& steps, const Context& context);

  const Scope& scope() const { return scope_; }

 private:
  void step(const Step& step);
  std::vector<c10::IValue> results_of(const Step& step);
  std::vector<c10::IValue> call(const OpCall& call);
  void bind(const std::vector<std::optional<std::string>>& names, std::vector<c10::IValue> results);

  Mode mode_;
  const Json& literals_;
  TensorSource tensors_;  ///< of inputs and literals: the same storage index is the same memory
  Scope scope_;
  std::vector<c10::IValue> last_;  ///< results of the last step
  c10::ScalarType narrow_default_;
  /// Stepwise: plain eager, one step ahead, which says the dtypes of results.
  std::unique_ptr<Interpreter> plain_;
};

}  // namespace lockstep::eager
