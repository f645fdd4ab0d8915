#pragma once

#include "base/reader.h"

namespace lockstep {

/// Says of every entry of a path's `config` that keeps programs from its backend, passes over what
/// the backend raises, or puts another one in its place.  Lockstep's own code is no configuration.
/// `config` is an object.
void check_config_reaches(Reader& reader, const Node& config);

/// The same of a variable of a path's `environment`, which torch reads as such an entry.
void check_variable_reaches(Reader& reader, const Node& variable, const std::string& name,
                            const std::string& value);

}  // namespace lockstep
