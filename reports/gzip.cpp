#include "reports/gzip.h"

#include <fmt/format.h>
#define ZLIB_CONST
#include <zlib.h>

#include <limits>
#include <stdexcept>

namespace lockstep {
namespace {

/// What zlib demands for the header and trailer of gzip instead of its own.
constexpr int kGzip = 15 + 16;
constexpr int kMemory = 8;  // zlib's default

}  // namespace

std::string gzip(std::string_view bytes) {
  z_stream stream{};
  const auto demand = [&](int result, int wanted) {
    if (result == wanted) return;
    // Memory is all that can be wanting.
    throw std::runtime_error(fmt::format("zlib: {}", stream.msg ? stream.msg : zError(result)));
  };
  if (bytes.size() > std::numeric_limits<uInt>::max())
    throw std::length_error("a report of more than 4 GiB cannot be compressed");
  demand(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kGzip, kMemory, Z_DEFAULT_STRATEGY),
         Z_OK);
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  demand(result, Z_STREAM_END);
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
