#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "paths/path.h"
#include "run/session_settings.h"

namespace lockstep {

/// Asks the Python worker, for each path that the command line added and whose backend is not
/// torch's own, whether torch has that backend once the path's modules are imported.  A backend
/// that there is not, and a module that cannot be imported, are added to `diagnostics`. Returns a
/// line for each path that could not be checked. Takes seconds for each; nothing where there is
/// none.
std::vector<std::string> check_backends(const SessionSettings& settings,
                                        const std::vector<Path>& paths, Diagnostics& diagnostics);

}  // namespace lockstep
