#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace lockstep {

/// A use of a name: of an input, or of the result of an earlier step.
struct Ref {
  std::string name;

  bool operator==(const Ref&) const = default;
};

/// A float64.  Equal are equal bits (0 is not -0), and any NaN and any other: the wire has one.
struct Float {
  double value = 0;

  bool operator==(const Float& other) const {
    return std::bit_cast<std::uint64_t>(value) == std::bit_cast<std::uint64_t>(other.value) ||
           (std::isnan(value) && std::isnan(other.value));
  }
};

/// A complex128.
struct Complex {
  Float real;
  Float imaginary;

  bool operator==(const Complex&) const = default;
};

/// A member of one of torch's enumerations, in torch's words: "float16", "cuda:1", "strided",
/// "channels_last".  Only the worker that executes the program knows whether its torch has it.
struct Enumeration {
  enum class Kind { dtype, device, layout, memory_format };
  Kind kind = Kind::dtype;
  std::string word;

  bool operator==(const Enumeration&) const = default;
};

/// "dtype", "device", "layout" or "memory_format": the key of the worker protocol.
std::string_view name_of(Enumeration::Kind kind);

/// What an argument, an operand or an input that is no tensor can be.
struct Value {
  using List = std::vector<Value>;

  /// std::monostate is None; integers beyond int64 are std::uint64_t, all others std::int64_t.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, Float, Complex, Ref, Enumeration,
               std::string, List>
      is;

  bool operator==(const Value& other) const;

  bool is_none() const { return std::holds_alternative<std::monostate>(is); }
};

}  // namespace lockstep
