#include "reports/gzip.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace lockstep {
namespace {

constexpr std::size_t kWindow = 32768;
constexpr std::size_t kLeastMatch = 3;
constexpr std::size_t kMostMatch = 258;
constexpr std::size_t kHashBits = 15;
constexpr int kMostTries = 48;  // candidates looked at for each match

/// What RFC 1951, 3.2.5 says of lengths and distances: the least value of each code, and how many
/// bits follow it.
struct Range {
  std::uint16_t least;
  std::uint8_t extra;
};
constexpr std::array<Range, 29> kLengths = {
    {{3, 0},  {4, 0},  {5, 0},  {6, 0},   {7, 0},   {8, 0},   {9, 0},   {10, 0},  {11, 1}, {13, 1},
     {15, 1}, {17, 1}, {19, 2}, {23, 2},  {27, 2},  {31, 2},  {35, 3},  {43, 3},  {51, 3}, {59, 3},
     {67, 4}, {83, 4}, {99, 4}, {115, 4}, {131, 5}, {163, 5}, {195, 5}, {227, 5}, {258, 0}}};
constexpr std::array<Range, 30> kDistances = {
    {{1, 0},     {2, 0},     {3, 0},     {4, 0},      {5, 1},      {7, 1},
     {9, 2},     {13, 2},    {17, 3},    {25, 3},     {33, 4},     {49, 4},
     {65, 5},    {97, 5},    {129, 6},   {193, 6},    {257, 7},    {385, 7},
     {513, 8},   {769, 8},   {1025, 9},  {1537, 9},   {2049, 10},  {3073, 10},
     {4097, 11}, {6145, 11}, {8193, 12}, {12289, 12}, {16385, 13}, {24577, 13}}};

template <std::size_t N>
std::size_t code_of(const std::array<Range, N>& ranges, std::size_t value) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), value,
                       [](std::size_t wanted, const Range& range) { return wanted < range.least; });
  return static_cast<std::size_t>(after - ranges.begin()) - 1;
}

class BitWriter {
 public:
  explicit BitWriter(std::string& out) : out_(out) {}
  /// Least significant bit first.
  void bits(std::uint32_t value, unsigned count) {
    held_ |= std::uint64_t{value} << filled_;
    for (filled_ += count; filled_ >= 8; filled_ -= 8, held_ >>= 8)
      out_ += static_cast<char>(held_ & 0xff);
  }
  /// A Huffman code: most significant bit first.
  void code(std::uint32_t value, unsigned count) {
    std::uint32_t reversed = 0;
    for (unsigned i = 0; i < count; ++i) reversed |= ((value >> i) & 1U) << (count - 1 - i);
    bits(reversed, count);
  }
  /// A literal, the end (256), or the code of a length, in the fixed codes of RFC 1951, 3.2.6.
  void symbol(std::uint32_t value) {
    if (value < 144) return code(0x30 + value, 8);
    if (value < 256) return code(0x190 + value - 144, 9);
    if (value < 280) return code(value - 256, 7);
    code(0xc0 + value - 280, 8);
  }
  void flush() {
    if (filled_ > 0) bits(0, 8 - filled_);
  }

 private:
  std::string& out_;
  std::uint64_t held_ = 0;
  unsigned filled_ = 0;
};

std::uint32_t crc32(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit)
        value = (value & 1U) ? 0xedb88320U ^ (value >> 1) : value >> 1;
      made[i] = value;
    }
    return made;
  }();
  std::uint32_t crc = ~0U;
  for (const char c : bytes) crc = table[(crc ^ static_cast<unsigned char>(c)) & 0xff] ^ (crc >> 8);
  return ~crc;
}

/// Finds earlier occurrences of the next bytes.
class Matcher {
 public:
  explicit Matcher(std::string_view bytes)
      : bytes_(bytes), first_(std::size_t{1} << kHashBits, kNone), before_(kWindow, kNone) {}
  struct Match {
    std::size_t length = 0, distance = 0;
  };
  /// The longest match at `at`, among the latest candidates.
  Match find(std::size_t at) const {
    Match best;
    if (at + kLeastMatch > bytes_.size()) return best;
    const std::size_t most = std::min(kMostMatch, bytes_.size() - at);
    std::size_t candidate = first_[hash(at)];
    for (int tries = 0; candidate != kNone && at - candidate <= kWindow && tries < kMostTries;
         ++tries) {
      std::size_t length = 0;
      while (length < most && bytes_[candidate + length] == bytes_[at + length]) ++length;
      if (length > best.length) best = {length, at - candidate};
      if (length == most) break;
      const std::size_t next = before_[candidate % kWindow];
      if (next != kNone && next >= candidate) break;  // overwritten: beyond the window
      candidate = next;
    }
    return best.length >= kLeastMatch ? best : Match{};
  }
  void add(std::size_t at) {
    if (at + kLeastMatch > bytes_.size()) return;
    std::size_t& first = first_[hash(at)];
    before_[at % kWindow] = first;
    first = at;
  }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t hash(std::size_t at) const {
    const auto byte = [&](std::size_t i) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes_[at + i]));
    };
    return ((byte(0) | byte(1) << 8 | byte(2) << 16) * 0x9e3779b1U) >> (32 - kHashBits);
  }
  std::string_view bytes_;
  std::vector<std::size_t> first_;   ///< the latest place with that hash
  std::vector<std::size_t> before_;  ///< the place before each, modulo the window
};

}  // namespace

std::string gzip(std::string_view bytes) {
  std::string out("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10);  // no name, no time
  BitWriter writer(out);
  writer.bits(1, 1);  // the last block
  writer.bits(1, 2);  // with fixed codes
  Matcher matcher(bytes);
  for (std::size_t at = 0; at < bytes.size();) {
    const Matcher::Match match = matcher.find(at);
    if (match.length == 0) {
      writer.symbol(static_cast<unsigned char>(bytes[at]));
      matcher.add(at++);
      continue;
    }
    const std::size_t length = code_of(kLengths, match.length);
    writer.symbol(static_cast<std::uint32_t>(257 + length));
    writer.bits(static_cast<std::uint32_t>(match.length - kLengths[length].least),
                kLengths[length].extra);
    const std::size_t distance = code_of(kDistances, match.distance);
    writer.code(static_cast<std::uint32_t>(distance), 5);
    writer.bits(static_cast<std::uint32_t>(match.distance - kDistances[distance].least),
                kDistances[distance].extra);
    for (const std::size_t end = at + match.length; at < end;) matcher.add(at++);
  }
  writer.symbol(256);
  writer.flush();
  for (const std::uint32_t word : {crc32(bytes), static_cast<std::uint32_t>(bytes.size())}) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(word >> shift & 0xff);
  }
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = word << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      text += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

}  // namespace lockstep
