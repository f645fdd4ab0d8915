#pragma once

#include <string>

namespace lockstep {

/// How strictly strides are compared.
enum class StrideRule { significant, exact, ignore };

/// Which error the case is about, if it is about one.
struct RaisesRule {
  std::string class_name;  ///< empty: any
  std::string match;       ///< an expression (base/pattern.h) found in the message; empty: any
};

}  // namespace lockstep
