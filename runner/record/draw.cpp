#include "record/draw.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "base/digest.h"

namespace lockstep {

bool is_drawn(std::uint64_t seed, double percent, std::string_view id) {
  constexpr double kAll = 1ULL << 48;
  const std::string digits = Digest().add(fmt::format("{} ", seed)).add(id).hex().substr(0, 12);
  return static_cast<double>(std::stoull(digits, nullptr, 16)) < percent / 100 * kAll;
}

std::uint64_t seed_by_packages(std::string_view text, const Json& environment) {
  constexpr std::size_t kDigits = 12;  // as many as a flag takes
  // Sorted, and each once: several workers may say the same.
  std::set<std::string> packages;
  for (const auto& [worker, values] : environment.items()) {
    if (worker == "machine" || !values.is_object()) continue;
    for (const auto& [name, value] : values.items()) {
      if (name == "torch" || name.starts_with("package "))
        packages.insert(fmt::format("{} {}", name, value.dump()));
    }
  }
  Digest digest;
  digest.add(text);
  for (const std::string& package : packages) digest.add("\n").add(package);
  return std::stoull(digest.hex().substr(0, kDigits), nullptr, 16);
}

}  // namespace lockstep
