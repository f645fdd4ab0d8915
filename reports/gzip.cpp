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

Result<std::string> gunzip(std::string_view bytes, std::size_t most) {
  constexpr std::size_t kStep = 1 << 20;
  z_stream stream{};
  if (bytes.size() > std::numeric_limits<uInt>::max() || inflateInit2(&stream, kGzip) != Z_OK)
    return fail("cannot decompress: too large, or no memory");
  stream.next_in = reinterpret_cast<const Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int result = Z_OK;
  while (result == Z_OK && out.size() <= most) {
    const std::size_t before = out.size();
    out.resize(before + kStep);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = kStep;
    result = inflate(&stream, Z_NO_FLUSH);
    out.resize(before + kStep - stream.avail_out);
  }
  const bool whole = result == Z_STREAM_END && stream.avail_in == 0 && out.size() <= most;
  inflateEnd(&stream);
  if (!whole)
    return fail(out.size() > most ? "it holds more than an archive may" : "this is no gzip file");
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
