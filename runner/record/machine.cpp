#include "record/machine.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string_view>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/files.h"
#include "base/text.h"

extern char** environ;

namespace lockstep {
namespace {

std::string line_with(const std::filesystem::path& path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t:", key.size());
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

/// NVIDIA's GPUs and driver as the kernel module tells them; no tool is needed.
void add_gpus(Json& machine) {
  if (const std::string driver = line_with("/proc/driver/nvidia/version", "NVRM version:");
      !driver.empty())
    machine["gpu_driver"] = driver;
  std::vector<std::string> models;
  std::error_code error;
  for (const auto& gpu : std::filesystem::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    if (std::string model = line_with(gpu.path() / "information", "Model:"); !model.empty())
      models.push_back(std::move(model));
  }
  std::sort(models.begin(), models.end());
  for (std::size_t i = 0; i < models.size(); ++i) machine[fmt::format("gpu {}", i)] = models[i];
}

// What lists of folders take; a longer one is cut.
constexpr std::size_t kLongestValue = 2000;

/// Whether a variable, NAME=VALUE, changes what torch computes, what Inductor compiles, or which of
/// both is found.
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

Json machine_environment() {
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
  add_gpus(machine);
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
