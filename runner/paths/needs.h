#pragma once

#include <set>
#include <string>
#include <vector>

#include "cases/case.h"
#include "cases/registry.h"
#include "paths/path.h"

namespace lockstep {

/// What an instance needs of a path, from its case: the features that declarations name.
struct Needs {
  std::vector<std::string> operators;  ///< as Case::operators
  std::vector<std::string> dtypes;     ///< of inputs, literals, arguments and contexts, each once
  std::string device;
  std::set<Feature> features;  ///< `dynamic_shapes` as for a path that leaves it to torch
  bool has_tensors = false;    ///< among its inputs
};

/// The needs of a case on a device.  `registry` tells which operators write to an argument; without
/// one, their names do.
Needs needs_of(const Case& declared, const std::string& device, const Registry* registry);

/// Whether a list of globs takes an operator, in any of its spellings; `!glob` excludes.
bool takes_operator(const std::vector<std::string>& globs, const std::string& name);

/// What a path declares about an instance.
struct Declared {
  std::string unsupported;  ///< why it is not supported; empty: it is
  std::string strides;      ///< why its strides are not in the contract; empty: they are
  /// Why the contract is no more than `values`, of all results and of gradients; empty: what the
  /// path contracts.
  std::string bits, gradient_bits;
  /// How far results may be off besides: those of the path's tolerances that are about one of its
  /// operators.
  std::vector<ToleranceRule> tolerances = {};

  /// The contract of the instance's results, gradients apart.
  Contract contract(const Path& path) const {
    return bits.empty() ? path.contract : Contract::values;
  }
};

/// The first declarations of the path that are about an instance with these needs under a release
/// of torch, such as "2.13.0+cpu"; where that is empty, none that are about releases.
Declared declared_of(const Path& path, const Needs& needs, const std::string& torch);

}  // namespace lockstep
