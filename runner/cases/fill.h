#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"

namespace lockstep {

/// A parameter of a fill rule.
struct RuleParameter {
  std::string_view name;
  double fallback;
  /// Whether the fall-back is made from the tensor's shape instead.
  bool from_shape = false;
};

/// A fill rule as the case format knows it.
struct RuleInfo {
  std::string_view name;
  std::vector<RuleParameter> parameters;
  bool seeded;
  std::string_view meaning;  ///< of element k of n, in storage order
};

/// Every fill rule.
const std::vector<RuleInfo>& fill_rules();

/// The element for a real number: integers are truncated and wrap, bool is "not 0", complex gets no
/// imaginary part.
ElementBits encode_number(const Dtype& dtype, double value);

/// A complex element of its parts' patterns.
ElementBits complex_element(const Dtype& part, std::uint64_t real, std::uint64_t imaginary);

/// The bytes of a tensor's whole storage (little-endian), the same on every machine.  `stream`
/// keeps inputs with the same seed apart: it is the input's name.
std::vector<std::byte> storage_bytes(const TensorSpec& spec, std::string_view stream);

}  // namespace lockstep
