#include "workers/eager/environment.h"

#include <ATen/Version.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "base/cpu.h"
#include "workers/eager/fnv1a.h"
#include "workers/eager/pins.h"

namespace lockstep::eager {
namespace {

/// The folder of the torch that is loaded: lib/libtorch_cpu.so is in it.
std::filesystem::path torch_folder() {
  Dl_info info{};
  void* const symbol = reinterpret_cast<void*>(&at::show_config);
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) return {};
  return std::filesystem::path(info.dli_fname).parent_path().parent_path();
}

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// A string that a wheel keeps in version.py and a libtorch archive in a file of its own.
std::string installed(const std::string& python_name, const std::string& archive_file) {
  std::ifstream file(torch_folder() / "version.py");
  std::stringstream text;
  text << file.rdbuf();
  const std::string content = text.str();
  std::smatch match;
  const std::regex line(python_name + R"((?:\s*:[^=\n]*)?\s*=\s*'([^']*)')");
  if (std::regex_search(content, match, line)) return match[1];
  return first_line(torch_folder() / archive_file);
}

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

/// The kinds of devices that execute, besides the CPU.
std::vector<c10::DeviceType> accelerators() {
  std::vector<c10::DeviceType> found = device_kinds();
  std::erase_if(found, [](auto kind) { return kind == c10::kCPU || kind == c10::kMeta; });
  return found;
}

/// Runs in the probe child: initialises whatever it asks.
std::string probe_devices() {
  std::string found = "cpu\n";
  for (const c10::DeviceType device : accelerators()) {
    const int count = c10::impl::getDeviceGuardImpl(device)->deviceCount();
    for (int i = 0; i < count; ++i) {
      found += c10::DeviceTypeName(device, /*lower_case=*/true) + ":" + std::to_string(i) + "\n";
    }
  }
  return found;
}

/// The file of a library that is loaded, whose name begins so; empty: none.
std::string loaded(std::string_view name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path == std::string::npos) continue;
    if (line.compare(line.rfind('/') + 1, name.size(), name) == 0) return line.substr(path);
  }
  return "";
}

/// Measured, because a library can set the processor's control word without telling torch.
bool flushes_denormals() { return at::full({1}, 1e-40).mul(1).item<float>() == 0; }

}  // namespace

std::string torch_version() {
  const std::string version = installed("__version__", "build-version");
  return version.empty() ? TORCH_VERSION : version;
}

std::string operators_digest() {
  std::vector<std::string> names;
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    names.push_back(toString(name));
  }
  std::sort(names.begin(), names.end());
  Fnv1a digest;
  digest.add(torch_version());
  for (const std::string& name : names) digest.add(name).add("\n");
  return digest.hex();
}

nlohmann::ordered_json environment() {
  nlohmann::ordered_json facts = {{"torch", torch_version()},
                                  {"torch_git", installed("git_version", "build-hash")},
                                  {"cpu_capability", at::get_cpu_capability()},
                                  {"parallel", first_line_of(at::get_openmp_version())},
                                  {"blas", first_line_of(at::get_mkl_version())},
                                  {"onednn", first_line_of(at::get_mkldnn_version())},
                                  {"compiler", __VERSION__},
                                  {"flush_denormals", flushes_denormals()},
                                  {"operators_digest", operators_digest()}};
  if (const std::string runtime = loaded("libcudart.so"); !runtime.empty())
    facts["cudart"] = runtime;
  facts.update(pins());
  return facts;
}

std::vector<c10::DeviceType> device_kinds() {
  std::vector<c10::DeviceType> kinds;
  for (int type = 0; type < static_cast<int>(c10::COMPILE_TIME_MAX_DEVICE_TYPES); ++type) {
    const auto kind = static_cast<c10::DeviceType>(type);
    if (c10::impl::hasDeviceGuardImpl(kind)) kinds.push_back(kind);
  }
  return kinds;
}

std::vector<std::string> cpu_levels(std::string_view flags, std::string own) {
  // What torch asks before it takes a level by itself (ATen/native/DispatchStub.cpp).
  const std::pair<const char*, std::vector<const char*>> known[] = {
      {"avx2", {"avx2", "fma"}},
      {"avx512", {"avx512f", "avx512vl", "avx512bw", "avx512dq", "fma"}}};
  const std::string words = " " + std::string(flags) + " ";
  std::vector<std::string> levels = {"default"};
  for (const auto& [level, needs] : known) {
    const bool has_all = std::all_of(needs.begin(), needs.end(), [&](const char* flag) {
      return words.find(std::string(" ") + flag + " ") != std::string::npos;
    });
    if (has_all) levels.emplace_back(level);
  }
  own = cpu_level_of(own);
  if (!own.empty() && std::find(levels.begin(), levels.end(), own) == levels.end())
    levels.push_back(own);
  return levels;
}

std::vector<std::string> cpu_levels() {
  return cpu_levels(cpu_line("flags"), at::get_cpu_capability());
}

std::vector<std::string> devices() {
  int ends[2];
  if (pipe(ends) != 0) return {"cpu"};
  const pid_t child = fork();
  if (child == 0) {
    const std::string found = probe_devices();
    const bool written = write(ends[1], found.data(), found.size()) >= 0;
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[512];
  for (ssize_t count; (count = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(ends[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  // A driver that kills the probe leaves what every torch has.
  if (text.empty() || status != 0) text = "cpu\n";
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) found.push_back(line);
  return found;
}

void load_libraries(const std::vector<std::string>& files) {
  for (const std::string& file : files) {
    if (dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL)) continue;
    const std::string why = dlerror();
    throw std::runtime_error(
        "cannot load a library: " + why +
        (why.find("undefined symbol") == std::string::npos
             ? ""
             : "; it must be built against this torch, without Python's part"));
  }
}

void warm_up() {
  const at::Tensor x = at::ones({8, 8}).requires_grad_(true);
  const at::Tensor y = at::matmul(x, x).sin().to(at::kHalf).to(at::kFloat).add(1).sum();
  // With a device autograd would start a thread for it, which a fork loses.
  if (accelerators().empty()) y.backward();
}

}  // namespace lockstep::eager
