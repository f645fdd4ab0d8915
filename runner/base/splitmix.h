#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014):
/// moves `state` on and returns 64 bits, every one of which depends on every bit of the state.
/// Short, and the same on every machine, unlike the standard library's distributions.
inline std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

/// A number that depends on every bit of a seed and of a name.
inline std::uint64_t mixed(std::uint64_t seed, std::string_view name) {
  for (const char c : name) seed = splitmix64(seed) ^ static_cast<unsigned char>(c);
  return splitmix64(seed);
}

}  // namespace lockstep
