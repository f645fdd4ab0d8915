#include "cases/fill.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lockstep {
namespace {

void store(std::byte* to, const Dtype& dtype, const ElementBits& bits) {
  std::memcpy(to, &bits.low, static_cast<std::size_t>(std::min(dtype.bytes, 8)));
  if (dtype.bytes == 16) std::memcpy(to + 8, &bits.high, 8);
}

/// Multiplies the finite elements of a storage, or the parts of these.
void multiply(std::vector<std::byte>& bytes, const Dtype& dtype, double by) {
  const Dtype& part = dtype.is_complex() ? *find_dtype(dtype.part) : dtype;
  const auto size = static_cast<std::size_t>(part.bytes);
  for (std::size_t at = 0; at + size <= bytes.size(); at += size) {
    std::uint64_t pattern = 0;
    std::memcpy(&pattern, bytes.data() + at, size);
    const double value = decode_float(part, pattern);
    if (std::isfinite(value)) store(bytes.data() + at, part, {encode_float(part, value * by), 0});
  }
}

}  // namespace

ElementBits complex_element(const Dtype& part, std::uint64_t real, std::uint64_t imaginary) {
  if (part.bytes == 8) return {real, imaginary};
  return {real | (imaginary << (8 * part.bytes)), 0};
}

ElementBits encode_number(const Dtype& dtype, double value) {
  if (dtype.kind == NumberKind::boolean) return {value != 0 ? 1U : 0U, 0};
  if (dtype.is_floating()) return {encode_float(dtype, value), 0};
  if (dtype.is_complex()) return encode_number(*find_dtype(dtype.part), value);
  // Through the widest integer that holds the value, so that no conversion is undefined.
  if (!(std::fabs(value) < 0x1p64)) return {};
  const std::uint64_t magnitude = static_cast<std::uint64_t>(std::fabs(value));
  return {value < 0 ? ~magnitude + 1 : magnitude, 0};
}

std::vector<std::byte> storage_bytes(const TensorSpec& spec, std::string_view stream_name) {
  const Dtype& dtype = *spec.dtype;
  const auto count = static_cast<std::uint64_t>(spec.storage_elements);
  std::vector<std::byte> bytes(count * static_cast<std::uint64_t>(dtype.bytes));
  const auto place = [&](std::uint64_t k) {
    return bytes.data() + k * static_cast<std::uint64_t>(dtype.bytes);
  };
  if (const auto* literal = std::get_if<LiteralFill>(&spec.fill)) {
    for (std::uint64_t k = 0; k < count && k < literal->elements.size(); ++k)
      store(place(k), dtype, literal->elements[k]);
  } else if (const auto* file = std::get_if<FileFill>(&spec.fill)) {
    std::memcpy(bytes.data(), file->bytes->data(), std::min(bytes.size(), file->bytes->size()));
  } else {
    const auto& fill = std::get<RuleFill>(spec.fill);
    const RandomStream stream(fill.seed, stream_name);
    const FillElements element = fill.rule->elements({dtype, fill, stream, count});
    for (std::uint64_t k = 0; k < count; ++k) store(place(k), dtype, element(k));
  }
  if (spec.scale != 1) multiply(bytes, dtype, spec.scale);
  for (const auto& [k, element] : spec.except) {
    if (k < count) store(place(k), dtype, element);
  }
  return bytes;
}

}  // namespace lockstep
