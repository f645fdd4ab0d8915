#pragma once

#include <optional>
#include <string>

#include "cases/decode.h"

namespace lockstep {

/// The overload that a step means, and its arguments.
struct Resolution {
  const Operator* op = nullptr;
  const Overload* overload = nullptr;
  Arguments arguments = {};
  /// Set instead of the rest when the registry has no such operator or overload: what it lacks.
  std::string lacking;
};

/// `context.registry` must be there.  Resolves `"op": "sum.dim_IntList"` (that overload) or `"op":
/// "sum"` (by the arguments) against the registry.  `args` and `kwargs` may be absent nodes. Errors
/// (unknown operator, wrong or missing argument, ambiguity with the overloads listed, refused
/// operator) are added to the reader.
///
/// A number is wrapped into a tensor only where no overload takes it as an int, a bool or a list.
/// Among several overloads the one with the fewest filled defaults wins, then the one that wraps
/// the fewest numbers (those called Tensor may wrap). Then the default one wins, then Tensor before
/// Scalar; else it is an error. Variants that write to `out` must be named.
std::optional<Resolution> resolve(Reader& reader, const Node& name, const std::optional<Node>& args,
                                  const std::optional<Node>& kwargs, const DecodeContext& context,
                                  Scope& scope);

}  // namespace lockstep
