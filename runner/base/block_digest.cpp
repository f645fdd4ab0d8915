#include "base/block_digest.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace lockstep {

static_assert(std::endian::native == std::endian::little, "words are read as they lie in memory");

void digest_on_host(const void* data, std::uint64_t bytes, BlockDigest* digests) {
  const auto* block = static_cast<const unsigned char*>(data);
  for (; bytes > 0; ++digests) {
    const std::uint64_t size = std::min(bytes, kDigestBlock);
    const std::uint64_t whole = size / 8;
    BlockDigest sums;
    const auto add = [&](std::uint64_t word, std::uint64_t i) {
      const BlockDigest more = digest_of_word(word, i);
      sums.a += more.a;
      sums.b += more.b;
    };
    for (std::uint64_t i = 0; i < whole; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, block + i * 8, sizeof word);
      add(word, i);
    }
    if (size % 8 != 0) add(digest_word(block, size, whole), whole);
    *digests = digest_of_sums(sums, size);
    block += size;
    bytes -= size;
  }
}

}  // namespace lockstep
