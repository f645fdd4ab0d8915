#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cases/case.h"
#include "cases/random_stream.h"

namespace lockstep {

/// A parameter of a fill rule.
struct RuleParameter {
  std::string_view name;
  double fallback = 0;
  std::string_view bounds = {};  ///< what it must be, for people; FillRule::fault decides
  /// Makes the fall-back of the tensor's shape instead, where it is not null.
  double (*from_shape)(const std::vector<std::int64_t>& shape) = nullptr;
};

/// What a rule makes a tensor's elements of.
struct FillSource {
  const Dtype& dtype;
  const RuleFill& fill;
  const RandomStream& stream;
  std::uint64_t count;  ///< elements of the storage
};

/// Element k of the storage.
using FillElements = std::function<ElementBits(std::uint64_t k)>;

/// A fill rule: all that the case format knows of it.  The table in fill_rules.cpp is the only list
/// of them.
struct FillRule {
  std::string_view name;
  std::span<const RuleParameter> parameters = {};
  bool seeded = false;  ///< draws random numbers
  bool direct = false;  ///< a number may stand for its only parameter: {"constant": 3}
  bool opaque = false;  ///< fills dtypes that have no numbers, too
  bool whole = false;   ///< an element depends on how many there are
  /// What is wrong with its parameters, or with the dtype for this rule; empty if nothing.
  std::string (&fault)(const RuleFill& fill, const Dtype& dtype);
  FillElements (&elements)(const FillSource& source);
  std::string_view meaning;  ///< of element k of n, in storage order
};

/// Every fill rule.
std::span<const FillRule> fill_rules();

/// The rule of that name, or nullptr.
const FillRule* find_fill_rule(std::string_view name);

/// The element for a real number: integers are truncated and wrap, bool is "not 0", complex gets no
/// imaginary part.
ElementBits encode_number(const Dtype& dtype, double value);

/// A complex element of its parts' patterns.
ElementBits complex_element(const Dtype& part, std::uint64_t real, std::uint64_t imaginary);

/// The bytes of a tensor's whole storage (little-endian), the same on every machine.  `stream`
/// keeps inputs with the same seed apart: it is the input's name.
std::vector<std::byte> storage_bytes(const TensorSpec& spec, std::string_view stream);

}  // namespace lockstep
