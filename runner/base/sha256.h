#pragma once

#include <string>
#include <string_view>

namespace lockstep {

/// The SHA-256 of bytes (FIPS 180-4), 64 hexadecimal digits: names what a stranger may have
/// written.
std::string sha256(std::string_view bytes);

}  // namespace lockstep
