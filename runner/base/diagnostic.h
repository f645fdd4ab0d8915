#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// An error in a file that a person wrote: its place, what was found, what was expected, how to
/// mend it.
struct Diagnostic {
  std::string file;
  int line = 0;         ///< 1-based
  int column = 0;       ///< 1-based, in characters
  std::string pointer;  ///< RFC 6901; empty for the whole document
  std::string message;
  std::string hint;  ///< may be empty

  bool operator==(const Diagnostic&) const = default;
};

/// "file:line:column: /pointer: message" and the hint on a line of its own, without a final
/// newline.
std::string to_string(const Diagnostic& diagnostic);

using Diagnostics = std::vector<Diagnostic>;

}  // namespace lockstep
