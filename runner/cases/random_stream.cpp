#include "cases/random_stream.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/wide.h"

namespace lockstep {

std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                    std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
        static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name)
    : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
      stream_(XXH32(name.data(), name.size(), 0)) {}

std::array<std::uint32_t, 4> RandomStream::block(std::uint64_t place, std::uint32_t draw) const {
  return philox(
      {static_cast<std::uint32_t>(place), static_cast<std::uint32_t>(place >> 32), draw, stream_},
      key_);
}

std::uint64_t RandomStream::word(std::uint64_t place, std::uint32_t draw) const {
  const auto words = block(place, draw);
  return (std::uint64_t{words[1]} << 32) | words[0];
}

double RandomStream::uniform(std::uint64_t place, std::uint32_t draw) const {
  return static_cast<double>(word(place, draw) >> 11) * 0x1p-53;
}

double RandomStream::normal(std::uint64_t place, std::uint32_t draw) const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < 3; ++i) {
    for (const std::uint32_t word : block(place, draw * 3 + i)) sum += word;
  }
  return (static_cast<double>(sum) + 6) * 0x1p-32 - 6;
}

std::uint64_t RandomStream::below(std::uint64_t range, std::uint64_t place,
                                  std::uint32_t draw) const {
  return static_cast<std::uint64_t>((static_cast<Wide>(word(place, draw)) * range) >> 64);
}

}  // namespace lockstep
