#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// How strictly strides are compared.
enum class StrideRule { significant, exact, ignore };

/// "significant", "exact", "ignore".
std::string_view name_of(StrideRule rule);
/// The rule of that name, or nothing.
std::optional<StrideRule> find_stride_rule(std::string_view name);
/// The names of all rules, in the order of the enumeration.
std::vector<std::string> stride_rule_names();

/// An error by which a path says that it does not support a program (paths/declarations.h).
struct RefusalRule {
  std::string error;   ///< glob of the class, with or without its module; empty: any
  std::string match;   ///< an expression (base/pattern.h) found in the message; empty: any
  std::string reason;  ///< what it means, a sentence

  bool operator==(const RefusalRule&) const = default;
};

/// How far results of some operators may be off, besides its contract
/// (paths/declarations.h): an output also conforms where `close(rtol=…, atol=…)` holds.
struct ToleranceRule {
  std::vector<std::string> operators;  ///< globs; the instances that have one of them
  std::vector<std::string> dtypes;     ///< globs; of outputs
  double rtol = 0, atol = 0;           ///< not negative
  std::string reason;                  ///< a sentence

  bool operator==(const ToleranceRule&) const = default;
};

/// Which error the case is about, if it is about one.
struct RaisesRule {
  std::string class_name;  ///< empty: any
  std::string match;       ///< an expression (base/pattern.h) found in the message; empty: any
};

}  // namespace lockstep
