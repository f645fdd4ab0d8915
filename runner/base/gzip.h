#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/lines.h"
#include "base/result.h"

namespace lockstep {

/// `bytes` in the gzip format (RFC 1952), without a name or a time: equal bytes give equal bytes.
std::string gzip(std::string_view bytes);

/// What may come out of gzip: bytes, and how many of them for each that goes in.
struct Unpacked {
  std::size_t most = 0;
  std::size_t ratio = SIZE_MAX;
};

/// What gzip made into `bytes`, which have to stay, a piece at a time; an error for anything else,
/// also for what follows it.
Pieces gunzip_pieces(std::string_view bytes, Unpacked limits);
/// The same as a whole.
Result<std::string> gunzip(std::string_view bytes, std::size_t most);

/// Base64 (RFC 4648, with padding).
std::string base64(std::string_view bytes);

}  // namespace lockstep
