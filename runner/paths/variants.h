#pragma once

#include <vector>

#include "paths/path.h"

namespace lockstep {

/// The variants that the file of a path declares (`variants`): the same path at another CPU level
/// or with another number of threads, each a path of its own, named `PATH.VARIANT`.  What is wrong
/// is added to `diagnostics`.
std::vector<Path> decode_variants(const Path& path, Diagnostics& diagnostics);

}  // namespace lockstep
