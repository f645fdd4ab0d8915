#include "paths/cpu_level.h"

#include <algorithm>
#include <array>

namespace lockstep {
namespace {

/// What else than torch's own kernels has a level of its own.
struct CpuLevel {
  std::string_view name;
  /// Values of ONEDNN_MAX_CPU_ISA and of MKL_CBWR (oneDNN's and MKL's reference). The latter is the
  /// only limit of MKL's that holds on every maker's CPU. With it results do not depend on the
  /// alignment of memory, either.
  std::string_view onednn, mkl;
  int vector_bits;
};
constexpr std::array kLevels = {CpuLevel{"default", "SSE41", "COMPATIBLE", 0},
                                CpuLevel{"avx2", "AVX2", "AVX2", 256},
                                CpuLevel{"avx512", "AVX512_CORE", "AVX512", 512}};

const CpuLevel* find(std::string_view level) {
  const auto* const found = std::find_if(kLevels.begin(), kLevels.end(),
                                         [&](const CpuLevel& each) { return each.name == level; });
  return found == kLevels.end() ? nullptr : found;
}

}  // namespace

bool is_cpu_level(std::string_view word) {
  return !word.empty() && word.size() <= 20 &&
         word.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string_view::npos;
}

std::vector<std::pair<std::string, std::string>> environment_of_cpu_level(std::string_view level) {
  std::vector<std::pair<std::string, std::string>> environment = {
      {"ATEN_CPU_CAPABILITY", std::string(level)}};
  if (const CpuLevel* known = find(level); known != nullptr) {
    environment.emplace_back("ONEDNN_MAX_CPU_ISA", known->onednn);
    environment.emplace_back("MKL_CBWR", known->mkl);
  }
  return environment;
}

std::optional<int> vector_bits_of_cpu_level(std::string_view level) {
  const CpuLevel* known = find(level);
  return known == nullptr ? std::nullopt : std::optional(known->vector_bits);
}

}  // namespace lockstep
