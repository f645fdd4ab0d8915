#include "base/block_digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/fuzzing.h"

namespace lockstep {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes random_bytes(std::size_t size, std::uint64_t seed) {
  fuzz::Random random(seed);
  Bytes bytes(size);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random.next());
  return bytes;
}

std::vector<BlockDigest> digests(const Bytes& bytes) {
  std::vector<BlockDigest> made(digest_blocks(bytes.size()));
  digest_on_host(bytes.data(), bytes.size(), made.data());
  return made;
}

BlockDigest digest(const Bytes& bytes) { return digests(bytes).front(); }

// The example of design/protocol.md; workers/digests/digest_of_page.py computes it by the page.
TEST(BlockDigest, IsWhatTheProtocolSays) {
  const BlockDigest three = digest({1, 2, 3});
  EXPECT_EQ(three.a, mix_a(mix_a(0x030201 + 0x9e3779b97f4a7c15ULL) + 3));
  EXPECT_EQ(three.b, mix_b(mix_b(0x030201 + 0xd1342543de82ef95ULL) + 3));
  Bytes counted(256);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<unsigned char>(i);
  EXPECT_EQ(digest(counted).a, 0x5c109d37b913e26fULL);
  EXPECT_EQ(digest(counted).b, 0x9c638ccdea83be9cULL);
}

TEST(BlockDigest, EveryBitCounts) {
  for (const std::size_t size : {1, 7, 8, 9, 64, 251}) {
    Bytes bytes = random_bytes(size, size);
    const BlockDigest before = digest(bytes);
    for (std::size_t bit = 0; bit < size * 8; ++bit) {
      bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << (bit % 8)));
      const BlockDigest after = digest(bytes);
      // A word adds to each sum by a bijection: one that differs is seen by each of them.
      EXPECT_NE(after.a, before.a) << size << " bytes, bit " << bit;
      EXPECT_NE(after.b, before.b) << size << " bytes, bit " << bit;
      bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ (1U << (bit % 8)));
    }
    EXPECT_EQ(digest(bytes), before);
  }
}

TEST(BlockDigest, PlacesCount) {
  const Bytes bytes = random_bytes(512, 1);
  const BlockDigest before = digest(bytes);
  for (std::size_t i = 0; i < 64; ++i) {
    for (std::size_t j = i + 1; j < 64; ++j) {
      Bytes swapped = bytes;
      std::swap_ranges(swapped.begin() + static_cast<std::ptrdiff_t>(i * 8),
                       swapped.begin() + static_cast<std::ptrdiff_t>(i * 8 + 8),
                       swapped.begin() + static_cast<std::ptrdiff_t>(j * 8));
      EXPECT_NE(digest(swapped).a, before.a) << i << " and " << j;
      EXPECT_NE(digest(swapped).b, before.b) << i << " and " << j;
    }
  }
}

/// Two words that change places, each moved by the difference of the steps of one sum: that sum
/// cannot see it.
TEST(BlockDigest, WhatOneSumMissesTheOtherSees) {
  for (const bool second : {false, true}) {
    const std::uint64_t step = second ? 0xd1342543de82ef95ULL : 0x9e3779b97f4a7c15ULL;
    const std::uint64_t words[] = {42, 1789}, moved[] = {1789 + step, 42 - step};
    Bytes one(16), other(16);
    std::memcpy(one.data(), words, 16);
    std::memcpy(other.data(), moved, 16);
    EXPECT_EQ(second ? digest(one).b : digest(one).a, second ? digest(other).b : digest(other).a);
    EXPECT_FALSE(digest(one) == digest(other));
  }
}

TEST(BlockDigest, LengthCounts) {
  Bytes bytes;
  std::vector<BlockDigest> seen;
  for (std::size_t size = 1; size <= 40; ++size) {
    bytes.push_back(0);  // zeros are what a word is filled with
    for (const BlockDigest& other : seen) EXPECT_FALSE(other == digest(bytes)) << size;
    seen.push_back(digest(bytes));
  }
}

TEST(BlockDigest, EachBlockHasItsOwn) {
  EXPECT_TRUE(digests({}).empty());
  const Bytes bytes = random_bytes(2 * kDigestBlock + 100, 7);
  const auto all = digests(bytes);
  ASSERT_EQ(all.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto from = bytes.begin() + static_cast<std::ptrdiff_t>(i * kDigestBlock);
    const auto to = i < 2 ? from + kDigestBlock : bytes.end();
    EXPECT_EQ(all[i], digest(Bytes(from, to)));
  }
  EXPECT_FALSE(all[0] == all[1]);
}

/// Dense data, in which words differ in few bits: no two of many blocks have a half of a digest in
/// common, of which chance would make one in 2^38.
TEST(BlockDigest, AlikeBlocksHaveDigestsWithNothingInCommon) {
  std::vector<std::uint64_t> halves;
  for (std::uint64_t i = 0; i < 4096; ++i) {
    std::uint64_t words[4] = {i, i << 32, 0, ~i};
    Bytes bytes(sizeof words);
    std::memcpy(bytes.data(), words, sizeof words);
    halves.push_back(digest(bytes).a);
    halves.push_back(digest(bytes).b);
  }
  std::sort(halves.begin(), halves.end());
  EXPECT_EQ(std::adjacent_find(halves.begin(), halves.end()), halves.end());
}

}  // namespace
}  // namespace lockstep
