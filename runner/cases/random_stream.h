#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace lockstep {

/// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): four random
/// words for a counter and a key.
std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key);

/// Random numbers by place: nothing depends on the order in which elements are made.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name);

  std::array<std::uint32_t, 4> block(std::uint64_t place, std::uint32_t draw) const;
  std::uint64_t word(std::uint64_t place, std::uint32_t draw = 0) const;
  /// In [0, 1), a multiple of 2^-53.
  double uniform(std::uint64_t place, std::uint32_t draw = 0) const;
  /// Nearly standard normal, in [-6, 6]: the sum of twelve uniform numbers, less 6.  Every step is
  /// exact: no logarithm or cosine, which differ between C libraries, takes part.
  double normal(std::uint64_t place, std::uint32_t draw = 0) const;
  /// In [0, range).
  std::uint64_t below(std::uint64_t range, std::uint64_t place, std::uint32_t draw = 0) const;

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint32_t stream_;
};

}  // namespace lockstep
