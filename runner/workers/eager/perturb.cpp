#include "workers/eager/perturb.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/dtype.h"
#include "base/splitmix.h"

namespace lockstep::eager {
namespace {

/// A hash of `x`: one step of the generator from there.
std::uint64_t mix(std::uint64_t x) { return splitmix64(x); }

}  // namespace

void perturb_storage(std::span<std::byte> storage, std::string_view name, std::size_t index) {
  const Dtype* dtype = find_dtype(name);
  if (dtype == nullptr || (!dtype->is_floating() && !dtype->is_complex())) return;
  const Dtype& number = dtype->is_complex() ? *find_dtype(dtype->part) : *dtype;
  if (number.mantissa_bits == 0)
    return;  // powers of two: the next one is no unit in the last place
  const auto bytes = static_cast<std::size_t>(number.bytes);
  const double least = std::ldexp(1.0, 2 - number.bias);  // twice the smallest normal number
  const std::uint64_t seed = mix(index);
  for (std::size_t i = 0; (i + 1) * bytes <= storage.size(); ++i) {
    std::byte* at = storage.data() + i * bytes;
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, bytes);  // little-endian: low bytes first
    const double value = decode_float(number, bits);
    if (!std::isfinite(value) || std::fabs(value) < least) continue;
    const std::uint64_t moved = (mix(seed + i) & 1) != 0 ? bits + 1 : bits - 1;
    if (std::isfinite(decode_float(number, moved))) std::memcpy(at, &moved, bytes);
  }
}

}  // namespace lockstep::eager
