#pragma once

#include <string>

namespace lockstep {

/// How strictly strides are compared.
enum class StrideRule { significant, exact, ignore };

/// An error by which a path says that it does not support a program (paths/declarations.h).
struct RefusalRule {
  std::string error;   ///< glob of the class, with or without its module; empty: any
  std::string match;   ///< an expression (base/pattern.h) found in the message; empty: any
  std::string reason;  ///< what it means, a sentence

  bool operator==(const RefusalRule&) const = default;
};

/// Which error the case is about, if it is about one.
struct RaisesRule {
  std::string class_name;  ///< empty: any
  std::string match;       ///< an expression (base/pattern.h) found in the message; empty: any
};

}  // namespace lockstep
