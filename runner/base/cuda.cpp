#include "base/cuda.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/bounded_json.h"
#include "base/json.h"
#include "base/text.h"

namespace lockstep {
namespace {

// Of cuda_runtime_api.h and nvml.h, what is asked here; all of it has been so since CUDA 10.
constexpr int kInsufficientDriver = 35, kNoDevice = 100;
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;
/// cudaDeviceProp begins with the name and the UUID in every release, and is smaller than this.
constexpr std::size_t kNameBytes = 256, kUuidBytes = 16, kPropertiesBytes = 1 << 14;
using Nvml = void*;

/// A function of a shared object; null if it has none of that name.
template <class Function>
Function* find(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
}

/// The runtime's functions.
struct Runtime {
  explicit Runtime(void* library)
      : version(find<int(int*)>(library, "cudaRuntimeGetVersion")),
        driver(find<int(int*)>(library, "cudaDriverGetVersion")),
        count(find<int(int*)>(library, "cudaGetDeviceCount")),
        set(find<int(int)>(library, "cudaSetDevice")),
        memory(find<int(std::size_t*, std::size_t*)>(library, "cudaMemGetInfo")),
        attribute(find<int(int*, int, int)>(library, "cudaDeviceGetAttribute")),
        properties(find<int(void*, int)>(library, "cudaGetDeviceProperties_v2")),
        text(find<const char*(int)>(library, "cudaGetErrorString")) {
    if (properties == nullptr)
      properties = find<int(void*, int)>(library, "cudaGetDeviceProperties");
  }
  bool whole() const {
    return version && driver && count && set && memory && attribute && properties && text;
  }

  int (*version)(int*);
  int (*driver)(int*);
  int (*count)(int*);
  int (*set)(int);
  int (*memory)(std::size_t*, std::size_t*);
  int (*attribute)(int*, int, int);
  int (*properties)(void*, int);
  const char* (*text)(int);
};

std::string uuid_text(const char* bytes) {
  std::string text = "GPU";
  for (std::size_t i = 0; i < kUuidBytes; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(bytes[i]));
  }
  return text;
}

/// The management library's words about MIG; empty: none.
std::string mig_of(void* management, const std::string& name, const std::string& uuid) {
  if (name.find(" MIG ") != std::string::npos) return "instance";
  const auto handle = find<int(const char*, Nvml*)>(management, "nvmlDeviceGetHandleByUUID");
  const auto mode = find<int(Nvml, unsigned*, unsigned*)>(management, "nvmlDeviceGetMigMode");
  Nvml device = nullptr;
  unsigned current = 0, pending = 0;
  if (handle == nullptr || mode == nullptr || handle(uuid.c_str(), &device) != 0) return "";
  return mode(device, &current, &pending) != 0 ? "off" : current != 0 ? "on" : "off";
}

/// The driver's own version, from the management library or the kernel's module.
std::string driver_text(void* management) {
  char text[96] = "";
  const auto init = find<int()>(management, "nvmlInit_v2");
  const auto version = find<int(char*, unsigned)>(management, "nvmlSystemGetDriverVersion");
  if (init != nullptr && version != nullptr && init() == 0 && version(text, sizeof text) == 0)
    return text;
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  const std::size_t module = line.find("Module  ");
  return module == std::string::npos
             ? ""
             : line.substr(module + 8, line.find(' ', module + 8) - module - 8);
}

Json ask_device(const Runtime& runtime, void* management, int index) {
  Json device = {{"index", index}};
  const auto failed = [&](int error) {
    if (error != 0 && !device.contains("fault")) device["fault"] = runtime.text(error);
    return error != 0;
  };
  std::array<char, kPropertiesBytes> properties{};
  int major = 0, minor = 0;
  std::size_t free = 0, total = 0;
  if (failed(runtime.properties(properties.data(), index))) return device;
  const std::string name(properties.data(), ::strnlen(properties.data(), kNameBytes));
  device["name"] = valid_utf8(name);
  device["uuid"] = uuid_text(properties.data() + kNameBytes);
  device["mig"] = mig_of(management, name, device["uuid"]);
  if (failed(runtime.attribute(&major, kCapabilityMajor, index)) ||
      failed(runtime.attribute(&minor, kCapabilityMinor, index)))
    return device;
  device["capability"] = fmt::format("{}.{}", major, minor);
  if (failed(runtime.set(index)) || failed(runtime.memory(&free, &total))) return device;
  device["free"] = free;
  device["total"] = total;
  return device;
}

/// Why no device is seen though the runtime was loaded, and what to do.
void explain(Json& found, const Runtime& runtime, int error, const CudaLibraries& libraries) {
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (void* const driver = ::dlopen(libraries.driver.c_str(), RTLD_NOW | RTLD_LOCAL);
      driver == nullptr) {
    found["lacking"] = fmt::format("no NVIDIA driver: {} was not found", libraries.driver);
    found["remedy"] = "on a machine with a GPU install its driver; in a container pass it through";
  } else if (error == kInsufficientDriver) {
    const std::string of_driver = cuda_version_text(found.value("driver_version", 0));
    const std::string of_runtime = cuda_version_text(found.value("runtime_version", 0));
    found["lacking"] =
        fmt::format("the driver is for CUDA {}, and the runtime is of {}", of_driver, of_runtime);
    found["remedy"] =
        fmt::format("install a newer driver, or a torch for CUDA {} or older", of_driver);
  } else if (visible != nullptr && (error == 0 || error == kNoDevice)) {
    found["lacking"] =
        fmt::format("CUDA_VISIBLE_DEVICES is '{}', which leaves no device", one_line(visible, 100));
    found["remedy"] = "unset it, or let it name devices that `nvidia-smi -L` lists";
  } else {
    found["lacking"] = error == 0 ? "the runtime finds no device" : runtime.text(error);
    found["remedy"] = "`nvidia-smi` says what the driver makes of this machine";
  }
}

Json ask(const CudaLibraries& libraries) {
  Json found = Json::object();
  void* library = nullptr;
  std::vector<std::string> names = {"libcudart.so.13", "libcudart.so.12", "libcudart.so"};
  if (!libraries.runtime.empty()) names.insert(names.begin(), libraries.runtime.string());
  for (const std::string& name : names) {
    if (library == nullptr) library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  }
  const Runtime runtime(library);
  if (library == nullptr) {
    found["lacking"] = fmt::format("no CUDA runtime: {} were not found", enumerate(names));
    found["remedy"] = "a torch for CUDA brings one; LOCKSTEP_CUDART names another";
    return found;
  }
  if (!runtime.whole()) {
    found["lacking"] = "the CUDA runtime lacks functions that every one has";
    found["remedy"] = "LOCKSTEP_CUDART names another";
    return found;
  }
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(runtime.version), &info) != 0 && info.dli_fname != nullptr)
    found["runtime"] = valid_utf8(info.dli_fname);
  int runtime_version = 0, driver_version = 0, count = 0;
  runtime.version(&runtime_version);
  runtime.driver(&driver_version);
  found["runtime_version"] = runtime_version;
  found["driver_version"] = driver_version;
  void* const management = ::dlopen(libraries.management.c_str(), RTLD_NOW | RTLD_LOCAL);
  found["driver"] = valid_utf8(driver_text(management));
  const int error = runtime.count(&count);
  if (error != 0 || count <= 0) {
    explain(found, runtime, error, libraries);
    return found;
  }
  found["devices"] = Json::array();
  for (int i = 0; i < count; ++i) found["devices"].push_back(ask_device(runtime, management, i));
  return found;
}

/// The child's whole life.
[[noreturn]] void tell(const CudaLibraries& libraries, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int signal : {SIGSEGV, SIGABRT, SIGINT, SIGTERM}) ::signal(signal, SIG_DFL);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
  const std::string text = ask(libraries).dump();
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count = ::write(output, text.data() + done, text.size() - done);
    if (count <= 0) ::_exit(1);
    done += static_cast<std::size_t>(count);
  }
  ::_exit(0);
}

/// A child's output within so many seconds, and whether the child ended.
bool listen(int input, double seconds, std::string& text) {
  constexpr std::size_t kMost = 1 << 20;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (text.size() < kMost) {
    const std::chrono::duration<double, std::milli> left = end - std::chrono::steady_clock::now();
    pollfd polled{input, POLLIN, 0};
    if (left.count() <= 0) return false;
    if (::poll(&polled, 1, static_cast<int>(left.count()) + 1) <= 0) continue;
    char buffer[4096];
    const ssize_t count = ::read(input, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(count));
  }
  return false;
}

CudaInventory lacking(std::string why) {
  CudaInventory none;
  none.lacking = std::move(why);
  none.remedy = "`nvidia-smi` says what the driver makes of this machine";
  return none;
}

CudaInventory from_json(const Json& found) {
  CudaInventory inventory;
  inventory.runtime = found.value("runtime", "");
  inventory.runtime_version = found.value("runtime_version", 0);
  inventory.driver_version = found.value("driver_version", 0);
  inventory.driver = found.value("driver", "");
  inventory.lacking = found.value("lacking", "");
  inventory.remedy = found.value("remedy", "");
  for (const Json& device : found.value("devices", Json::array())) {
    inventory.devices.push_back(
        {device.value("index", 0), device.value("name", ""), device.value("capability", ""),
         device.value("uuid", ""), device.value("mig", ""), device.value("total", std::uint64_t{0}),
         device.value("free", std::uint64_t{0}), device.value("fault", "")});
  }
  return inventory;
}

}  // namespace

CudaInventory cuda_inventory(const CudaLibraries& libraries) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return lacking(fmt::format("no pipe: {}", ::strerror(errno)));
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    tell(libraries, ends[1]);
  }
  ::close(ends[1]);
  std::string text;
  const bool ended = child > 0 && listen(ends[0], libraries.seconds, text);
  ::close(ends[0]);
  if (child < 0) return lacking("no process to ask in");
  if (!ended) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!ended) return lacking(fmt::format("the driver did not answer in {:g} s", libraries.seconds));
  if (WIFSIGNALED(status)) {
    return lacking(fmt::format("asking the driver ends the process: signal {} ({})",
                               WTERMSIG(status), ::strsignal(WTERMSIG(status))));
  }
  try {
    const auto found = parse_bounded_json(text, {.bytes = 1 << 20, .depth = 4, .values = 1 << 14});
    if (found && found->is_object() && status == 0) return from_json(*found);
  } catch (const Json::exception&) {  // another type than was asked for
  }
  return lacking("asking the driver gives no answer");
}

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string describe_versions(const CudaInventory& found) {
  return fmt::format("CUDA {} ({}), driver{} for CUDA {}", cuda_version_text(found.runtime_version),
                     found.runtime.substr(found.runtime.rfind('/') + 1),
                     found.driver.empty() ? "" : " " + found.driver,
                     cuda_version_text(found.driver_version));
}

std::string describe(const CudaDevice& device) {
  std::string text = device.name.empty() ? "a device" : device.name;
  if (!device.capability.empty()) text += ", compute capability " + device.capability;
  if (device.total_bytes > 0)
    text += fmt::format(", {:.1f} GiB", static_cast<double>(device.total_bytes) / (1 << 30));
  if (!device.mig.empty()) text += ", MIG " + device.mig;
  if (!device.uuid.empty()) text += ", " + device.uuid;
  if (!device.fault.empty()) text += "; cannot be used: " + device.fault;
  return text;
}

}  // namespace lockstep
