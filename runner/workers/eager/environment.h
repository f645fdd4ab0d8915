#pragma once

#include <c10/core/DeviceType.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

// What this process is: the torch it has loaded, and the devices that it can use.
namespace lockstep::eager {

/// "2.13.0+cpu", read beside the loaded library, for the headers do not know the local part.
std::string torch_version();

/// Changes when the operator registry may have changed: a hash of torch's version and all names.
std::string operators_digest();

/// `environment` of `hello`.
nlohmann::ordered_json environment();

/// At which of torch's CPU levels kernels can run on a CPU with these flags of /proc/cpuinfo:
/// "default", and more, worst first.  `own`: the one that torch has chosen for this process.
std::vector<std::string> cpu_levels(std::string_view flags, std::string own);

/// The same of this machine.
std::vector<std::string> cpu_levels();

/// The kinds of devices that torch was built for or that a library has registered, the CPU among
/// them; whether there is a device of each is another matter.
std::vector<c10::DeviceType> device_kinds();

/// "cpu", "cuda:0": asked in a child of its own, for a process that has initialised an accelerator
/// cannot fork children that use it.
std::vector<std::string> devices();

/// Loads shared objects that add operators or kernels to torch.  Throws std::runtime_error with
/// what the loader says of the first that it cannot load.
void load_libraries(const std::vector<std::string>& files);

/// Runs a few operators and a backward, so that children inherit what torch sets up lazily.
/// Call at::set_num_threads(1) first: libgomp does not survive a fork after a parallel region.
void warm_up();

}  // namespace lockstep::eager
