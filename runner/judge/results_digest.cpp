#include "judge/results_digest.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/digest.h"
#include "judge/numerics/numbers.h"
#include "judge/numerics/walk.h"

namespace lockstep {
namespace {

/// Adds elements side by side, each NaN as the same one.
void add_elements(Digest& digest, const Dtype& dtype, const std::byte* elements,
                  std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(count) * static_cast<std::size_t>(dtype.bytes);
  const Dtype& number = number_dtype(dtype);
  if (!number.is_floating()) {
    digest.add({reinterpret_cast<const char*>(elements), bytes});
    return;
  }
  std::array<std::byte, TensorWalk::kBlock * 16> copy;
  std::memcpy(copy.data(), elements, bytes);
  const auto size = static_cast<std::size_t>(number.bytes);
  for (std::size_t at = 0; at < bytes; at += size) {
    if (is_nan(number, load_bits(copy.data() + at, number.bytes)))
      std::fill_n(copy.data() + at, size, std::byte{0xff});
  }
  digest.add({reinterpret_cast<const char*>(copy.data()), bytes});
}

void add(Digest& digest, const NamedValues& values) {
  for (const auto& [name, value] : values) {
    digest.add(name).add({"\0", 1}).add(describe(value)).add({"\0", 1});
    const auto* view = std::get_if<TensorView>(&value);
    if (view == nullptr) {
      // describe() cuts a long text.
      if (const auto* text = std::get_if<std::string>(&std::get<ScalarValue>(value)))
        digest.add(*text).add({"\0", 1});
      continue;
    }
    if (view->dtype == nullptr) continue;
    const std::array<const TensorView*, 1> views{view};
    const TensorWalk walk(views, TensorWalk::Order::index);
    walk.visit(0, walk.elements(), [&](std::int64_t, std::int64_t count, const auto& blocks) {
      add_elements(digest, *view->dtype, blocks[0], count);
    });
  }
}

}  // namespace

std::string results_digest(const Observation& observation) {
  if (observation.outcome != Outcome::returned || observation.repetitions.empty()) return {};
  Digest digest;
  for (const CallResult& call : observation.repetitions.front()) {
    add(digest, call.outputs);
    add(digest, call.inputs);
    add(digest, call.grads);
  }
  return digest.hex().substr(0, 16);
}

}  // namespace lockstep
