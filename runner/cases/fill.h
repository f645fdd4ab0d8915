#pragma once

#include <array>
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

/// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): four random
/// words for a counter and a key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// The element for a real number: integers are truncated and wrap, bool is "not 0", complex gets no
/// imaginary part.
ElementBits encode_number(const Dtype& dtype, double value);

/// The boundary values of a dtype: zeros, subnormals, neighbours of one, limits, infinities, NaNs;
/// for integers 0, +-1, limits.
std::vector<ElementBits> special_values(const Dtype& dtype);

/// The bytes of a tensor's whole storage (little-endian), the same on every machine.  `stream`
/// keeps inputs with the same seed apart: it is the input's name.
std::vector<std::byte> storage_bytes(const TensorSpec& spec, std::string_view stream);

}  // namespace lockstep
