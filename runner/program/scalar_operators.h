#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace lockstep {

/// One operator of scalar steps: Python's arithmetic on ints, floats and bools.
struct ScalarOperator {
  std::string_view name;  ///< in case files, on the wire, and printed before its operands
  std::size_t fewest = 1;
  std::size_t most = 1;     ///< operands; 0: any number from `fewest` on
  std::string_view python;  ///< how Python spells it: "{}" is an operand, or all of any number

  bool takes(std::size_t operands) const {
    return operands >= fewest && (most == 0 || operands <= most);
  }
  /// "2", "2 or more".
  std::string arity() const;
};

/// All of them: design/protocol.md's list in its order.  lockstep_worker/source.py has the same.
std::span<const ScalarOperator> scalar_operators();

/// nullptr if there is none of that name.
const ScalarOperator* find_scalar_operator(std::string_view name);

}  // namespace lockstep
