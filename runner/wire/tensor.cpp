#include "wire/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "base/text.h"

namespace lockstep {
namespace {

std::string describe_scalar(const ScalarValue& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool v) const { return v ? "bool True" : "bool False"; }
    std::string operator()(std::int64_t v) const { return fmt::format("int {}", v); }
    std::string operator()(double v) const { return fmt::format("float {}", v); }
    std::string operator()(std::complex<double> v) const {
      return fmt::format("complex ({}{:+}j)", v.real(), v.imag());
    }
    std::string operator()(const std::string& v) const {
      return fmt::format("str \"{}\"", one_line(v, 60));
    }
    std::string operator()(const ListOf& v) const { return fmt::format("a list of {}", v.size); }
  };
  return std::visit(Visitor{}, value);
}

/// value + a * b, or false on overflow; none is negative.
bool add_product(std::int64_t& value, std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(value, product, &value);
}

}  // namespace

std::string describe(const DataValue& value) {
  if (const auto* scalar = std::get_if<ScalarValue>(&value)) return describe_scalar(*scalar);
  const auto& view = std::get<TensorView>(value);
  return fmt::format("{}[{}]", view.dtype == nullptr ? "?" : view.dtype->name,
                     fmt::join(view.shape, ", "));
}

bool fits_storage(const TensorView& view) {
  if (view.dtype == nullptr || view.strides.size() != view.shape.size() || view.offset < 0) {
    return false;
  }
  // An expanded view has more elements than bytes, so their number is bounded too: elements() must
  // not overflow, nor the count of bytes that they would have side by side.
  std::int64_t bytes = view.dtype->bytes;
  std::int64_t last = view.offset;  // greatest index of an element
  bool empty = false;
  bool fits = true;
  for (std::size_t i = 0; i < view.shape.size(); ++i) {
    const std::int64_t size = view.shape[i];
    const std::int64_t stride = view.strides[i];
    if (size < 0 || stride < 0) return false;
    if (size == 0) {
      empty = true;
      continue;
    }
    if (__builtin_mul_overflow(bytes, size, &bytes)) return false;
    if (!add_product(last, size - 1, stride)) fits = false;
  }
  // No element, no access: an empty view may have any strides and offset.
  if (empty) return true;
  const auto available = static_cast<std::int64_t>(view.bytes.size()) / view.dtype->bytes;
  return fits && last < available;
}

}  // namespace lockstep
