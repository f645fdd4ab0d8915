#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace lockstep {

/// `bytes` in the gzip format (RFC 1952), without a name or a time: equal bytes give equal bytes.
std::string gzip(std::string_view bytes);

/// Unpacks gzip data, to at most so many bytes. Anything else is an error, also data behind it.
Result<std::string> gunzip(std::string_view bytes, std::size_t most);

/// Base64 (RFC 4648, with padding).
std::string base64(std::string_view bytes);

}  // namespace lockstep
