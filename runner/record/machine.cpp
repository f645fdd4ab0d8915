#include "record/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <string_view>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/files.h"
#include "base/text.h"

extern char** environ;

namespace lockstep {
namespace {

// What lists of folders take; a longer one is cut.
constexpr std::size_t kLongestValue = 2000;

/// Whether a variable, NAME=VALUE, changes what torch computes, what Inductor compiles, or which
/// torch is found.
bool changes_results(std::string_view variable) {
  constexpr std::string_view kPrefixes[] = {"ATEN_",
                                            "TORCH",
                                            "PYTORCH_",
                                            "MKL_",
                                            "OMP_",
                                            "KMP_",
                                            "ONEDNN_",
                                            "DNNL_",
                                            "CUDA_",
                                            "CUBLAS_",
                                            "CUDNN_",
                                            "NVIDIA_TF32",
                                            "TRITON_",
                                            "GOMP_",
                                            "MALLOC_",
                                            "LD_PRELOAD=",
                                            "LD_LIBRARY_PATH=",
                                            "PYTHONPATH=",
                                            "CXX=",
                                            "CXXFLAGS=",
                                            "CPATH=",
                                            "CPLUS_INCLUDE_PATH=",
                                            "LIBRARY_PATH="};
  return std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

}  // namespace

std::string folder_digest(const std::filesystem::path& folder, std::string_view extension) {
  const auto files = files_below(folder, extension);
  if (files.empty()) return "";
  Digest digest;
  for (const std::filesystem::path& file : files) {
    const std::string name = file.lexically_relative(folder).generic_string();
    const std::string text = read_file(file).value_or("");
    digest.add({name.c_str(), name.size() + 1}).add({text.c_str(), text.size() + 1});
  }
  return digest.hex();
}

std::string file_digest(const std::filesystem::path& file) {
  const auto text = read_file(file);
  return text ? Digest().add(*text).hex() : "";
}

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

void add_cuda(Json& machine, const CudaInventory& found) {
  machine["cuda"] = found.lacking.empty() ? describe_versions(found) : "none: " + found.lacking;
  for (const CudaDevice& device : found.devices) {
    machine[fmt::format("cuda:{}", device.index)] = describe(device);
    machine[fmt::format("cuda:{}{}", device.index, kFreeMemory)] =
        fmt::format("{:.1f} GiB", static_cast<double>(device.free_bytes) / (1 << 30));
  }
}

Json machine_environment(const std::filesystem::path& cuda_runtime) {
  Json machine = Json::object();
  utsname name{};
  if (::uname(&name) == 0) {
    machine["host"] = name.nodename;
    machine["kernel"] = fmt::format("{} {} {}", name.sysname, name.release, name.machine);
  }
  machine["cpu"] = cpu_line("model name");
  machine["cpu_features"] = fmt::format("{}", fmt::join(cpu_features(), " "));
  machine["cores"] = ::sysconf(_SC_NPROCESSORS_ONLN);
  machine["memory_gib"] = fmt::format("{:.1f}", static_cast<double>(physical_memory()) / (1 << 30));
  add_cuda(machine, cuda_inventory({.runtime = cuda_runtime}));
  machine["binary"] = file_digest("/proc/self/exe");
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !changes_results(text)) continue;
    machine["env " + std::string(text.substr(0, equals))] =
        one_line(text.substr(equals + 1), kLongestValue);
  }
  return machine;
}

}  // namespace lockstep
