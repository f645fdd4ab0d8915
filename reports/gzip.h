#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// `bytes` in the gzip format (RFC 1952), with one deflate block of fixed codes: a tenth of what a
/// report's JSON takes, without a library, so that the core stays one of headers.
std::string gzip(std::string_view bytes);

/// Base64 (RFC 4648, with padding).
std::string base64(std::string_view bytes);

}  // namespace lockstep
