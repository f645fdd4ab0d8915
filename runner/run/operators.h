#pragma once

#include <optional>

#include "cases/registry.h"
#include "run/session_settings.h"

namespace lockstep {

/// The operators: the dump that was made with the build, nothing where there is none; or, with
/// libraries, what lockstep-eager dumps after it has loaded those.
Result<std::optional<Registry>> read_operators(const SessionSettings& settings);

/// What lockstep-eager dumps now, with the libraries of the settings.
Result<Registry> dump_operators(const SessionSettings& settings);

}  // namespace lockstep
