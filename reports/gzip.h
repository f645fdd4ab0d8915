#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// `bytes` in the gzip format (RFC 1952), without a name or a time: equal bytes give equal bytes.
std::string gzip(std::string_view bytes);

/// Base64 (RFC 4648, with padding).
std::string base64(std::string_view bytes);

}  // namespace lockstep
