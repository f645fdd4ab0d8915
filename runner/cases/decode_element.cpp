#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "cases/decode.h"

namespace lockstep {
namespace {

std::optional<double> parse_float_text(std::string_view text) {
  bool negative = false;
  std::string_view rest = text;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  double value = 0;
  if (rest == "inf") {
    value = std::numeric_limits<double>::infinity();
  } else if (rest == "nan") {
    value = std::numeric_limits<double>::quiet_NaN();
  } else if (rest.starts_with("0x")) {
    rest.remove_prefix(2);
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), value, std::chars_format::hex);
    if (error != std::errc{} || end != rest.data() + rest.size()) return std::nullopt;
  } else if (rest == "0.0") {
    value = 0;
  } else {
    return std::nullopt;
  }
  return std::copysign(value, negative ? -1.0 : 1.0);
}

/// A real number of a floating dtype (or of the part of a complex one).
std::optional<std::uint64_t> decode_real(Reader& reader, const Node& node, const Dtype& dtype) {
  if (node->is_number()) {
    const double value = node->get<double>();
    const std::uint64_t bits = encode_float(dtype, value);
    if (!std::isfinite(decode_float(dtype, bits))) {
      reader.mismatch(node, fmt::format("a number in the range of {}", dtype.name),
                      "write \"inf\" to mean infinity");
      return std::nullopt;
    }
    return bits;
  }
  if (node->is_string()) {
    if (const auto value = parse_float_text(node->get<std::string>())) {
      if (std::isinf(*value) && !dtype.has_infinity) {
        reader.error(node.pointer,
                     fmt::format("found an infinity, which {} does not have", dtype.name));
        return std::nullopt;
      }
      return encode_float(dtype, *value);
    }
  }
  reader.mismatch(
      node, fmt::format("an element of {}", dtype.name),
      "a number, \"-0.0\", \"nan\", \"inf\", \"-inf\", \"0x1.8p-4\" or {\"bits\": \"0x7fc1\"}");
  return std::nullopt;
}

std::optional<ElementBits> decode_bits(Reader& reader, const Node& node, const Dtype& dtype) {
  const auto text = reader.text(node, "a hexadecimal string such as \"0x7fc1\"");
  if (!text) return std::nullopt;
  std::string_view digits = *text;
  ElementBits bits;
  const std::size_t wide = static_cast<std::size_t>(dtype.bytes) * 2;
  const bool hex = digits.starts_with("0x") && digits.size() > 2 && digits.size() - 2 <= wide &&
                   digits.find_first_not_of("0123456789abcdefABCDEF", 2) == std::string_view::npos;
  if (!hex) {
    reader.mismatch(node, fmt::format("\"0x\" and at most {} hexadecimal digits ({} has {} bytes)",
                                      wide, dtype.name, dtype.bytes));
    return std::nullopt;
  }
  digits.remove_prefix(2);
  if (digits.size() > 16) {
    const std::size_t upper = digits.size() - 16;
    std::from_chars(digits.data(), digits.data() + upper, bits.high, 16);
    digits.remove_prefix(upper);
  }
  std::from_chars(digits.data(), digits.data() + digits.size(), bits.low, 16);
  return bits;
}

std::optional<ElementBits> decode_whole(Reader& reader, const Node& node, const Dtype& dtype) {
  const int width = dtype.bytes * 8;
  if (dtype.kind == NumberKind::signed_integer) {
    const std::int64_t greatest = width == 64 ? INT64_MAX : (std::int64_t{1} << (width - 1)) - 1;
    const auto value = reader.integer(node, -greatest - 1, greatest,
                                      fmt::format("an integer in the range of {}", dtype.name));
    return value ? std::optional(ElementBits{static_cast<std::uint64_t>(*value), 0}) : std::nullopt;
  }
  const std::uint64_t greatest = width == 64 ? UINT64_MAX : (std::uint64_t{1} << width) - 1;
  if (node->is_number_unsigned() && node->get<std::uint64_t>() <= greatest)
    return ElementBits{node->get<std::uint64_t>(), 0};
  reader.mismatch(node, fmt::format("an integer in the range of {}", dtype.name));
  return std::nullopt;
}

}  // namespace

std::optional<ElementBits> decode_element(Reader& reader, const Node& node, const Dtype& dtype) {
  if (node->is_object()) {
    if (const auto bits = reader.child(node, "bits"); bits && node->size() == 1)
      return decode_bits(reader, *bits, dtype);
    const auto parts = reader.child(node, "complex");
    if (!parts || node->size() != 1 || !dtype.is_complex() || !(*parts)->is_array() ||
        (*parts)->size() != 2) {
      reader.mismatch(node,
                      dtype.is_complex()
                          ? "{\"complex\": [real, imaginary]} or {\"bits\": \"0x...\"}"
                          : fmt::format("an element of {} or {{\"bits\": \"0x...\"}}", dtype.name));
      return std::nullopt;
    }
    const Dtype& part = *find_dtype(dtype.part);
    const auto real = decode_real(reader, reader.element(*parts, 0), part);
    const auto imaginary = decode_real(reader, reader.element(*parts, 1), part);
    if (!real || !imaginary) return std::nullopt;
    if (part.bytes == 8) return ElementBits{*real, *imaginary};
    return ElementBits{*real | (*imaginary << (8 * part.bytes)), 0};
  }
  switch (dtype.kind) {
    case NumberKind::boolean: {
      const auto value = reader.boolean(node);
      return value ? std::optional(ElementBits{*value ? 1U : 0U, 0}) : std::nullopt;
    }
    case NumberKind::floating: {
      const auto bits = decode_real(reader, node, dtype);
      return bits ? std::optional(ElementBits{*bits, 0}) : std::nullopt;
    }
    case NumberKind::complex: {
      const auto bits = decode_real(reader, node, *find_dtype(dtype.part));
      return bits ? std::optional(ElementBits{*bits, 0}) : std::nullopt;
    }
    case NumberKind::quantized:
      return decode_whole(reader, node, *find_dtype(dtype.part));
    case NumberKind::opaque:
      reader.mismatch(node, fmt::format("{{\"bits\": \"0x...\"}}: {} has no numbers", dtype.name));
      return std::nullopt;
    default:
      return decode_whole(reader, node, dtype);
  }
}

}  // namespace lockstep
