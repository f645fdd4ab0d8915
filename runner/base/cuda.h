#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// Finds the CUDA devices. It loads the CUDA runtime if there is one, so building needs no toolkit,
// and running needs no GPU.
namespace lockstep {

/// A device that programs of this process would see.
struct CudaDevice {
  int index = 0;
  std::string name;        ///< "NVIDIA H100 80GB HBM3"
  std::string capability;  ///< compute capability: "9.0"
  std::string uuid;        ///< "GPU-…"
  std::string mig;         ///< "off", "on", "instance"; empty: nobody says
  std::uint64_t total_bytes = 0, free_bytes = 0;
  std::string fault;  ///< why the rest is not known; empty: it is
};

/// What was found.
struct CudaInventory {
  std::string runtime;      ///< the file that was loaded; empty: none
  int runtime_version = 0;  ///< 13000 is 13.0
  int driver_version = 0;   ///< the newest CUDA that the driver is for; 0: there is none
  std::string driver;       ///< its own version: "580.65.06"
  std::vector<CudaDevice> devices;
  std::string lacking;  ///< why there is no device, one line; empty: there is one
  std::string remedy;   ///< what to do about it
};

/// Where to look.
struct CudaLibraries {
  /// The runtime that torch has loaded, tried first; then those that the loader finds by name.
  std::filesystem::path runtime;
  /// The user-mode driver, which is only looked for to tell why there is no device.
  std::string driver = "libcuda.so.1";
  std::string management = "libnvidia-ml.so.1";
  double seconds = 60;  ///< a context of each device is made, to ask for its memory
};

/// Asks in a child of its own, for at most `seconds`: a driver that crashes or hangs costs the
/// inventory and nothing else, and no context is made in this process, whose forks could not use
/// theirs then.
CudaInventory cuda_inventory(const CudaLibraries& libraries);

/// "13.0" of 13000.
std::string cuda_version_text(int version);

/// "CUDA 13.0 (libcudart.so.13), driver 580.65.06 for CUDA 13.1"
std::string describe_versions(const CudaInventory& found);

/// "NVIDIA H100 80GB HBM3, compute capability 9.0, 79.1 GiB, MIG off, GPU-…"
std::string describe(const CudaDevice& device);

}  // namespace lockstep
