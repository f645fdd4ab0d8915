#include "judge/numerics/kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <type_traits>

#include "judge/numerics/modulus.h"
#include "judge/numerics/numbers.h"
#include "judge/numerics/walk.h"

// Highway's headers alone: its library is not linked, which its own checks would call.  What
// nothing here uses is left out, so that vector_levels() need not ask the processor for it.
#define HWY_IS_DEBUG_BUILD 0
#define HWY_DISABLE_PCLMUL_AES
#define HWY_DISABLE_F16C
#if defined(__x86_64__)
#define HWY_DISABLED_TARGETS HWY_SSSE3
#else
#define HWY_COMPILE_ONLY_STATIC
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "judge/numerics/kernels.cpp"
// First of all, once for each target, this file up to here and what follows.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#ifndef LOCKSTEP_KERNELS_ONCE
#define LOCKSTEP_KERNELS_ONCE
namespace lockstep {
inline constexpr auto kBlock = static_cast<std::size_t>(TensorWalk::kBlock);
inline constexpr std::size_t kWidest = 64;  ///< bytes of a vector
}  // namespace lockstep
#endif

// Each uses those before it.
// clang-format off
#include "judge/numerics/block.h"
#include "judge/numerics/float_kernel.h"
#include "judge/numerics/complex_kernel.h"
#include "judge/numerics/integer_kernel.h"
#include "judge/numerics/gold_kernel.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace lockstep::HWY_NAMESPACE {

template <class Signed>
PairKernel integer_of(bool is_signed) {
  return is_signed ? &integer_kernel<Signed> : &integer_kernel<std::make_unsigned_t<Signed>>;
}

PairKernel kernel_of(const Dtype& dtype) {
  const Dtype& number = number_dtype(dtype);
  if (number.is_floating()) {
    if (number.bytes == 8)
      return dtype.is_complex() ? &complex_kernel<Float64> : &float_kernel<Float64>;
    if (number.bytes == 4)
      return dtype.is_complex() ? &complex_kernel<Float32> : &float_kernel<Float32>;
    if (number.bytes == 1 || dtype.is_complex()) return &compare_each;
    return dtype.exponent_bits == 8 ? &float_kernel<Bfloat16> : &float_kernel<Float16>;
  }
  const bool is_signed = number.kind == NumberKind::signed_integer;
  switch (dtype.bytes) {
    case 1:
      return integer_of<std::int8_t>(is_signed);
    case 2:
      return integer_of<std::int16_t>(is_signed);
    case 4:
      return integer_of<std::int32_t>(is_signed);
    default:
      return integer_of<std::int64_t>(is_signed);
  }
}

Decoder decoder_of(const Dtype& dtype) {
  if (dtype.bytes == 8) return &decode<Float64>;
  if (dtype.bytes == 4) return &decode<Float32>;
  if (dtype.bytes == 1) return nullptr;
  return dtype.exponent_bits == 8 ? &decode<Bfloat16> : &decode<Float16>;
}

}  // namespace lockstep::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace lockstep {

std::span<const VectorLevel> vector_levels() {
  static constexpr std::array all = {VectorLevel::baseline, VectorLevel::sse4, VectorLevel::avx2,
                                     VectorLevel::avx512};
  static const std::size_t available = [] {
    std::size_t levels = 1;
#if defined(__x86_64__)
    __builtin_cpu_init();
    levels += __builtin_cpu_supports("sse4.2") != 0;
    levels += levels == 2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
    levels += levels == 3 && __builtin_cpu_supports("avx512f") &&
              __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
#endif
    return levels;
  }();
  return std::span(all).first(available);
}

// The function that a level has of that name.
#if defined(__x86_64__)
#define LOCKSTEP_AT(level, function)               \
  (level == VectorLevel::avx512 ? N_AVX3::function \
   : level == VectorLevel::avx2 ? N_AVX2::function \
   : level == VectorLevel::sse4 ? N_SSE4::function \
                                : HWY_STATIC_DISPATCH(function))
#else
#define LOCKSTEP_AT(level, function) (static_cast<void>(level), HWY_STATIC_DISPATCH(function))
#endif

PairKernel pair_kernel(const Dtype& dtype, VectorLevel level) {
  return LOCKSTEP_AT(level, kernel_of)(dtype);
}

Decoder decoder(const Dtype& dtype, VectorLevel level) {
  return LOCKSTEP_AT(level, decoder_of)(dtype);
}

GoldKernel gold_kernel(VectorLevel level) { return LOCKSTEP_AT(level, gold_kernel_here)(); }

}  // namespace lockstep
#endif
