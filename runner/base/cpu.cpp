#include "base/cpu.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace lockstep {
namespace {

/// The order of oneDNN's documentation of ONEDNN_MAX_CPU_ISA.
constexpr std::array<std::string_view, 12> kIsas = {"SSE41",
                                                    "AVX",
                                                    "AVX2",
                                                    "AVX2_VNNI",
                                                    "AVX2_VNNI_2",
                                                    "AVX512_CORE",
                                                    "AVX512_CORE_VNNI",
                                                    "AVX512_CORE_BF16",
                                                    "AVX512_CORE_FP16",
                                                    "AVX512_CORE_AMX",
                                                    "AVX512_CORE_AMX_FP16",
                                                    "DEFAULT"};

/// The features that oneDNN alone uses, and the first of kIsas that has them.
constexpr std::pair<std::string_view, std::string_view> kOfOnednn[] = {
    {"avx512_bf16", "AVX512_CORE_BF16"},
    {"avx512_fp16", "AVX512_CORE_FP16"},
    {"amx_bf16", "AVX512_CORE_AMX"},
    {"amx_int8", "AVX512_CORE_AMX"},
    {"amx_fp16", "AVX512_CORE_AMX_FP16"}};

/// Its place in kIsas; the last place if it is not there.
std::size_t place_of(std::string_view isa) {
  // Newer names of the same levels.
  if (isa == "AVX10_1_512") isa = "AVX512_CORE_FP16";
  if (isa == "AVX10_1_512_AMX") isa = "AVX512_CORE_AMX";
  if (isa == "AVX10_1_512_AMX_FP16") isa = "AVX512_CORE_AMX_FP16";
  const auto found = std::find(kIsas.begin(), kIsas.end(), isa);
  return std::min<std::size_t>(static_cast<std::size_t>(found - kIsas.begin()), kIsas.size() - 1);
}

}  // namespace

const std::vector<std::string>& all_cpu_features() {
  static const std::vector<std::string> features = {"avx2",     "fma",         "avx512f",
                                                    "avx512bw", "avx512_bf16", "avx512_fp16",
                                                    "amx_bf16", "amx_int8",    "amx_fp16"};
  return features;
}

std::vector<std::string> cpu_features(std::string_view flags, std::string_view onednn_limit) {
  std::string limit(onednn_limit);
  std::transform(limit.begin(), limit.end(), limit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::string words = " " + std::string(flags) + " ";
  std::vector<std::string> found;
  for (const std::string& feature : all_cpu_features()) {
    if (words.find(" " + feature + " ") == std::string::npos) continue;
    const auto by_onednn = std::find_if(std::begin(kOfOnednn), std::end(kOfOnednn),
                                        [&](const auto& each) { return each.first == feature; });
    if (by_onednn != std::end(kOfOnednn) && place_of(limit) < place_of(by_onednn->second)) continue;
    found.push_back(feature);
  }
  return found;
}

std::vector<std::string> cpu_features() {
  const char* limit = std::getenv("ONEDNN_MAX_CPU_ISA");
  return cpu_features(cpu_line("flags"), limit == nullptr ? "" : limit);
}

std::string cpu_level_of(std::string_view cpu_capability) {
  std::string level(cpu_capability);
  std::transform(level.begin(), level.end(), level.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return level == "no avx" ? "default" : level;
}

std::string cpu_line(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return "";
}

}  // namespace lockstep
