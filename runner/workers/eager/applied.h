#pragma once

#include <string>
#include <vector>

#include "program/program.h"
#include "workers/eager/program.h"

namespace lockstep::eager {

/// Executes a call of an operator with sub-programs as what it means, never as torch's operator: an
/// `if`, a loop over slices, autograd.  All that computes is a step of the interpreter, so that
/// golds, with the plain eager that some have a step ahead, compute it as any other.
class Applied {
 public:
  Applied(Interpreter& on, const ApplyCall& call) : on_(on), call_(call) {}

  /// The results, by names that no program has.  Unsupported where a gold cannot follow.
  std::vector<Value> results();

 private:
  std::vector<Value> run(const SubProgram& program, const std::vector<Value>& given);
  std::vector<Value> cond();
  std::vector<Value> while_loop();
  std::vector<Value> scan();
  std::vector<Value> associative_scan();
  std::vector<Value> vmap();
  std::vector<Value> grad();
  std::vector<Value> jvp();
  std::vector<Value> flex_attention();

  /// The result of an operator.
  Value op(const char* overload, std::vector<Value> args,
           std::vector<std::pair<std::string, Value>> kwargs = {});
  /// The slice of a tensor at a place along a dimension.
  Value slice(const Value& tensor, std::int64_t dim, std::int64_t place);
  /// The slices of all arguments.
  std::vector<Value> slices(std::int64_t dim, std::int64_t place);
  /// Slices one behind the other, along `dim` of the whole, as torch lays them out.
  Value stacked(const std::vector<Value>& slices, std::int64_t dim);
  at::Tensor tensor(const Value& value) const;
  std::int64_t length(const Value& value, std::int64_t dim) const;
  bool reversed() const;

  Interpreter& on_;
  const ApplyCall& call_;
};

}  // namespace lockstep::eager
