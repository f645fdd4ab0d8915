#include "base/gzip.h"

#include <fmt/format.h>
#define ZLIB_CONST
#include <zlib.h>

#include <limits>
#include <memory>
#include <stdexcept>

#include "base/text.h"

namespace lockstep {
namespace {

/// What zlib demands for the header and trailer of gzip instead of its own.
constexpr int kGzip = 15 + 16;
constexpr int kMemory = 8;  // zlib's default

/// A text that is unpacked while it is read.
class Unpacking {
 public:
  Unpacking(std::string_view bytes, Unpacked limits) : bytes_(bytes), limits_(limits) {
    if (bytes.size() <= std::numeric_limits<uInt>::max() && inflateInit2(&stream_, kGzip) == Z_OK) {
      result_ = Z_OK;
      stream_.next_in = reinterpret_cast<const Bytef*>(bytes.data());
      stream_.avail_in = static_cast<uInt>(bytes.size());
    }
  }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  ~Unpacking() { inflateEnd(&stream_); }

  Result<std::string_view> next() {
    if (result_ == Z_STREAM_END && stream_.avail_in == 0) return std::string_view();
    if (result_ != Z_OK) return fail("this is no gzip file");
    stream_.next_out = reinterpret_cast<Bytef*>(piece_.data());
    stream_.avail_out = static_cast<uInt>(piece_.size());
    result_ = inflate(&stream_, Z_NO_FLUSH);
    const std::size_t count = piece_.size() - stream_.avail_out;
    out_ += count;
    if (out_ > limits_.most)
      return too_much(fmt::format("more than {} bytes", grouped(limits_.most)));
    // Of little that comes first nothing can be told.
    if (out_ / limits_.ratio > bytes_.size() - stream_.avail_in + piece_.size() / limits_.ratio)
      return too_much(fmt::format("more than {} times what is packed", grouped(limits_.ratio)));
    return count > 0 ? std::string_view(piece_).substr(0, count) : next();
  }

 private:
  tl::unexpected<Error> too_much(const std::string& what) {
    result_ = Z_DATA_ERROR;
    return fail(fmt::format("found {} in it, which is the most that may be", what));
  }

  std::string_view bytes_;
  Unpacked limits_;
  z_stream stream_{};
  int result_ = Z_DATA_ERROR;
  std::size_t out_ = 0;
  std::string piece_ = std::string(1 << 16, '\0');
};

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

Pieces gunzip_pieces(std::string_view bytes, Unpacked limits) {
  return [unpacking = std::make_shared<Unpacking>(bytes, limits)] { return unpacking->next(); };
}

Result<std::string> gunzip(std::string_view bytes, std::size_t most) {
  const Pieces pieces = gunzip_pieces(bytes, {most});
  std::string text;
  while (true) {
    const auto piece = pieces();
    if (!piece) return tl::unexpected(piece.error());
    if (piece->empty()) return text;
    text += *piece;
  }
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
