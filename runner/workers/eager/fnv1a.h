#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace lockstep::eager {

/// FNV-1a of 64 bits: a digest that is short to write in every language.
class Fnv1a {
 public:
  Fnv1a& add(std::string_view bytes) {
    for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return *this;
  }
  /// 16 hexadecimal digits.
  std::string hex() const {
    char text[17];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash_));
    return text;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

}  // namespace lockstep::eager
