#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cases/python_operators.h"
#include "cases/registry.h"
#include "paths/path.h"
#include "run/session_settings.h"

namespace lockstep {

/// The operators: the dump that was made with the build, nothing where there is none; or, with
/// libraries, what lockstep-eager dumps after it has loaded those.
Result<std::optional<Registry>> read_operators(const SessionSettings& settings);

/// The operators that the modules of the settings register, and those that `paths` import; null
/// where there are none of either.  Keeps the settings.
std::shared_ptr<const PythonOperators> operators_of_modules(const SessionSettings& settings,
                                                            const std::vector<Path>& paths);

/// What lockstep-eager dumps now, with the libraries of the settings.
Result<Registry> dump_operators(const SessionSettings& settings);

}  // namespace lockstep
