#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Whose words an error is, as the worker tells it that caught it.
enum class ErrorKind {
  error,     ///< the program's own: eager could raise it, too
  refused,   ///< the compiler says that it does not take this program
  internal,  ///< the compiler failed at its work
};

/// "error", "refused", "internal": as observations and logs spell them.
std::string_view name_of(ErrorKind kind);
std::optional<ErrorKind> find_error_kind(std::string_view name);
/// All of them, in the order of the enumeration.
std::vector<std::string> error_kind_names();

}  // namespace lockstep
