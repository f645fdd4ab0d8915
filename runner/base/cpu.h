#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The flags of a processor, as Linux spells them, by which torch, oneDNN and Inductor choose
/// kernels.
const std::vector<std::string>& all_cpu_features();

/// Those of this machine that libraries may use, in the order of all_cpu_features: a flag that
/// ONEDNN_MAX_CPU_ISA forbids is left out, for only oneDNN's kernels go by these.
std::vector<std::string> cpu_features();

/// The same for the text of /proc/cpuinfo's `flags` and the value of ONEDNN_MAX_CPU_ISA (in any
/// case; empty or unknown: no limit).
std::vector<std::string> cpu_features(std::string_view flags, std::string_view onednn_limit);

/// torch's word for the level at which its kernels use a CPU, as ATEN_CPU_CAPABILITY takes it
/// ("avx2"), of what a process calls it ("AVX2", "NO AVX").
std::string cpu_level_of(std::string_view cpu_capability);

/// A line of /proc/cpuinfo, such as that of "model name"; empty where there is none.
std::string cpu_line(std::string_view key);

}  // namespace lockstep
