#include "run/machine.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <string_view>

extern char** environ;

namespace lockstep {
namespace {

std::string cpu_line(std::string_view key) {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 <= line.size()) return line.substr(colon + 2);
  }
  return "";
}

/// Flags that decide which kernels torch and Inductor choose.
std::string cpu_features() {
  const std::string flags = " " + cpu_line("flags") + " ";
  std::string found;
  for (const std::string_view flag :
       {"avx2", "fma", "avx512f", "avx512bw", "avx512_bf16", "avx512_fp16", "amx_bf16"}) {
    if (flags.find(fmt::format(" {} ", flag)) != std::string::npos)
      found += (found.empty() ? "" : " ") + std::string(flag);
  }
  return found;
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::int64_t physical_memory() {
  return std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGE_SIZE);
}

Json machine_environment() {
  Json machine = Json::object();
  utsname name{};
  if (::uname(&name) == 0) {
    machine["host"] = name.nodename;
    machine["kernel"] = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  }
  machine["cpu"] = cpu_line("model name");
  machine["cpu_features"] = cpu_features();
  machine["cores"] = ::sysconf(_SC_NPROCESSORS_ONLN);
  machine["memory_gib"] = fmt::format("{:.1f}", static_cast<double>(physical_memory()) / (1 << 30));
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    for (const std::string_view prefix :
         {"ATEN_", "TORCH", "PYTORCH_", "MKL_", "OMP_", "KMP_", "ONEDNN_", "DNNL_", "CUDA_",
          "CUBLAS_", "NVIDIA_TF32", "TRITON_", "LD_PRELOAD=", "CXX="}) {
      const std::size_t equals = text.find('=');
      if (text.starts_with(prefix) && equals != std::string_view::npos) {
        machine["env " + std::string(text.substr(0, equals))] =
            std::string(text.substr(equals + 1, 200));
      }
    }
  }
  return machine;
}

}  // namespace lockstep
