#pragma once

#include <cstddef>
#include <cstdint>

// Digests of blocks of bytes, the same on a host and on a device. With them a worker says which
// blocks of a storage the runner already has (design/protocol.md, "Held storages"). C++17 and no
// library: a
// compiler of a device takes this file, too.

#ifdef __CUDACC__
#define LOCKSTEP_ANYWHERE __host__ __device__
#else
#define LOCKSTEP_ANYWHERE
#endif

namespace lockstep {

/// Bytes of a block; the last one of a storage may have fewer.
constexpr std::uint64_t kDigestBlock = 65536;

constexpr std::uint64_t digest_blocks(std::uint64_t bytes) {
  return bytes / kDigestBlock + (bytes % kDigestBlock != 0 ? 1 : 0);
}

/// 128 bits, of two sums that know nothing of each other.
struct BlockDigest {
  std::uint64_t a = 0, b = 0;
};

LOCKSTEP_ANYWHERE inline bool operator==(const BlockDigest& one, const BlockDigest& other) {
  return one.a == other.a && one.b == other.b;
}

// Both mixers are bijections of 64 bits in which each bit of the result hangs on each of the word:
// Stafford's variant 13 ("Better Bit Mixing", 2011; also the end of SplitMix64), and the end of
// MurmurHash3 (Appleby, public domain).
LOCKSTEP_ANYWHERE inline std::uint64_t mix_a(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

LOCKSTEP_ANYWHERE inline std::uint64_t mix_b(std::uint64_t z) {
  z = (z ^ (z >> 33)) * 0xff51afd7ed558ccdULL;
  z = (z ^ (z >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return z ^ (z >> 33);
}

/// What word `i` of a block, from 0, adds to the sums.  The place is in it by a step of its own for
/// each sum (the golden ratio; the multiplier of Steele and Vigna, "Computationally easy,
/// spectrally good multipliers", 2021): two words that change places so that one sum stays as it
/// was move the other.
LOCKSTEP_ANYWHERE inline BlockDigest digest_of_word(std::uint64_t word, std::uint64_t i) {
  return {mix_a(word + (i + 1) * 0x9e3779b97f4a7c15ULL),
          mix_b(word + (i + 1) * 0xd1342543de82ef95ULL)};
}

/// The digest of a block of `bytes` bytes from the sums over its words: sums have no order, so
/// that threads may take words as they like.
LOCKSTEP_ANYWHERE inline BlockDigest digest_of_sums(BlockDigest sums, std::uint64_t bytes) {
  return {mix_a(sums.a + bytes), mix_b(sums.b + bytes)};
}

/// Word `i` of a block: eight bytes, the first one lowest; zeros where the block ends before.
LOCKSTEP_ANYWHERE inline std::uint64_t digest_word(const unsigned char* block, std::uint64_t bytes,
                                                   std::uint64_t i) {
  std::uint64_t word = 0;
  for (std::uint64_t k = 0; k < 8 && i * 8 + k < bytes; ++k)
    word |= static_cast<std::uint64_t>(block[i * 8 + k]) << (8 * k);
  return word;
}

/// The digest of each block of `bytes` bytes at `data`, in the memory of this process, into
/// `digests`, which has room for digest_blocks(bytes).
void digest_on_host(const void* data, std::uint64_t bytes, BlockDigest* digests);

}  // namespace lockstep
