#include "workers/eager/perturb.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "base/dtype.h"

namespace lockstep::eager {
namespace {

template <class T>
std::vector<T> perturbed(std::vector<T> values, std::string_view dtype) {
  perturb_storage(std::as_writable_bytes(std::span(values)), dtype, 0);
  return values;
}

TEST(Perturb, every_dtype_moves_by_one_place) {
  for (const Dtype& dtype : all_dtypes()) {
    const Dtype& number = dtype.is_complex() ? *find_dtype(dtype.part) : dtype;
    const bool moves = number.is_floating() && number.mantissa_bits > 0;
    const std::uint64_t one = number.is_floating() ? encode_float(number, 1.0) : 1;
    const auto bytes = static_cast<std::size_t>(number.bytes);
    std::vector<std::byte> storage(64 * bytes);
    for (std::size_t i = 0; i < 64; ++i) std::memcpy(storage.data() + i * bytes, &one, bytes);
    perturb_storage(storage, dtype.name, 0);
    for (std::size_t i = 0; i < 64; ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, storage.data() + i * bytes, bytes);
      EXPECT_EQ(bits != one, moves) << dtype.name;
      EXPECT_LE(bits > one ? bits - one : one - bits, 1u) << dtype.name;
    }
  }
}

TEST(Perturb, what_has_no_neighbour_of_its_size_stays) {
  const std::vector<float> still = {0.0F,
                                    -0.0F,
                                    0x1p-149F,
                                    0x1p-126F,
                                    std::numeric_limits<float>::infinity(),
                                    -std::numeric_limits<float>::infinity()};
  EXPECT_EQ(perturbed(still, "float32"), still);
  EXPECT_TRUE(std::signbit(perturbed(still, "float32")[1]));
  const std::vector<float> greatest(64, std::numeric_limits<float>::max());
  for (const float value : perturbed(greatest, "float32")) EXPECT_TRUE(std::isfinite(value));
  EXPECT_TRUE(std::isnan(perturbed<float>({NAN}, "float32")[0]));
}

// Inputs that moved together would hide what their difference loses.
TEST(Perturb, storages_move_apart) {
  std::vector<float> a(64, 1.0F), b(64, 1.0F);
  perturb_storage(std::as_writable_bytes(std::span(a)), "float32", 0);
  perturb_storage(std::as_writable_bytes(std::span(b)), "float32", 1);
  int apart = 0;
  for (std::size_t i = 0; i < 64; ++i) apart += a[i] != b[i];
  EXPECT_GT(apart, 16);
  EXPECT_LT(apart, 48);
}

}  // namespace
}  // namespace lockstep::eager
