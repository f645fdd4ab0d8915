#pragma once

#include <filesystem>

#include "cases/registry.h"

namespace lockstep {

/// For tests: a few dozen operators of torch 2.13.0, as lockstep-eager dumps them.
inline const Registry& dumped_operators() {
  static const Registry registry = *Registry::read(std::filesystem::path(LOCKSTEP_SOURCE_DIR) /
                                                   "runner/cases/testdata/schemas.json");
  return registry;
}

}  // namespace lockstep
