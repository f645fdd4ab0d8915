#pragma once

#include <optional>
#include <string>

#include "cases/decode.h"

namespace lockstep {

/// Whether a value refers to a name, "%x"; "%%x" is the string "%x".
bool is_reference(const Json& value);

/// What a JSON value of a file is as an argument of that type, or nothing when it does not fit.
/// `std::string* why` gets what was expected.
std::optional<Value> fit_argument(const Json& value, const std::string& type, const Scope& scope,
                                  std::string* why);

}  // namespace lockstep
