#include "commands/doctor_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "paths/globs.h"
#include "wire/message.h"

namespace lockstep {
namespace {

std::string kind_of(const std::string& device) { return device.substr(0, device.find(':')); }

/// What would make a path usable whose settings cannot be put in force, by the words in which its
/// worker (absent_paths.h, lockstep_worker/configure.py) says why.
std::string remedy_for(const Path& path, const std::string& reason) {
  if (!path.site.cpu_level.empty() && reason.starts_with("this machine has no CPU level"))
    return "use another machine for it; this one can judge the levels that it has";
  if (reason.starts_with("cannot import "))
    return "install the package for this Python, or put its folder into `PYTHONPATH` of the path's "
           "`environment`";
  if (reason.find(" has no backend ") != std::string::npos)
    return "install the package that registers it, or name its module in the path's `import`";
  if (reason.starts_with("torch ") && reason.find(" has no ") != std::string::npos)
    return "another release of torch may have it";
  return "bring what its file asks for";
}

/// Why torch has not the CUDA device that the machine has.
DoctorFinding finding_of_missed_cuda(const Json& machine, const std::string& torch) {
  const bool is_cpu_build = torch.ends_with("+cpu");
  return {Health::poor, "device cuda",
          fmt::format("not here: the machine has {}, and {}", machine.value("cuda:0", "a GPU"),
                      is_cpu_build ? fmt::format("torch {} is built without CUDA", torch)
                                   : fmt::format("torch {} does not find it", torch)),
          is_cpu_build ? "set LOCKSTEP_PYTHON to a Python whose torch has CUDA"
                       : "its driver must be as new as the CUDA of this torch, and a container "
                         "must be given the device"};
}

/// Says of each kind of device for which there is a path, and that torch lacks, that it does.
void add_missed_kinds(const std::vector<Path>& paths, const std::string& torch,
                      std::vector<std::string> kinds, std::vector<DoctorFinding>& findings) {
  for (const Path& path : paths) {
    for (const std::string& glob : path.devices) {
      const std::string kind = kind_of(glob);
      if (glob.starts_with('!') || has_wildcard(glob) || kind == "cuda" || contains(kinds, kind))
        continue;
      kinds.push_back(kind);  // said once
      findings.push_back(
          {path.added ? Health::poor : Health::absent, "device " + kind,
           fmt::format("not here, and `{}` is for it: torch {} does not find it", path.name, torch),
           "--library FILE loads what registers it for eager, the path's `import` "
           "what registers it in Python"});
    }
  }
}

}  // namespace

DoctorFinding finding_of_path(const Path& path, const PathState& state,
                              const std::vector<std::string>& devices) {
  const std::string subject = "path " + path.name;
  if (!state.failure.empty()) {
    return {path.is_default ? Health::bad : Health::poor, subject, state.failure,
            path.worker.empty() ? "see the documentation of that worker"
                                : "the worker's own words are above"};
  }
  if (!state.absent.empty()) {
    return {path.added ? Health::poor : Health::absent, subject,
            "cannot be used here: " + state.absent,
            remedy_for(path, state.absent) + "; until then a run leaves it out"};
  }
  std::vector<std::string> here;
  std::copy_if(devices.begin(), devices.end(), std::back_inserter(here),
               [&](const std::string& device) { return devices_take(path.devices, device); });
  if (here.empty())
    return {Health::absent, subject, "has no device here: it is for " + enumerate(path.devices),
            ""};
  const std::string& other = path.reference.device;
  if (!other.empty() && !contains(devices, other)) {
    return {Health::poor, subject,
            fmt::format("cannot be judged here: it is compared with eager on {}, which this torch "
                        "does not have",
                        other),
            "name a device in its `reference` that is here"};
  }
  std::string text = "on " + enumerate(here);
  std::vector<std::string> sites;
  for (const std::string& device : here) {
    const std::string site = describe(path.reference, device);
    if (!site.empty() && !contains(sites, site)) sites.push_back(site);
  }
  if (!sites.empty()) text += ", compared with eager " + enumerate(sites, "or");
  if (!path.is_default) text += "; only when named";
  return {Health::good, subject, std::move(text), ""};
}

std::vector<DoctorFinding> findings_of_devices(const Json& hello, const Json& machine,
                                               const std::vector<Path>& paths) {
  const Json environment = hello.value("environment", Json::object());
  const std::string torch = environment.value("torch", std::string("of an unknown version"));
  const std::vector<std::string> devices = strings_of(hello, "devices");
  const std::vector<std::string> levels = strings_of(hello, "cpu_levels");
  std::vector<DoctorFinding> findings;
  if (devices.empty())
    findings.push_back({Health::bad, "devices", "none", "this torch finds no device at all"});
  else
    findings.push_back({Health::good, "devices", enumerate(devices), ""});
  std::vector<std::string> kinds;
  for (const std::string& device : devices) {
    kinds.push_back(kind_of(device));
    std::string text = "torch computes on it";
    if (device == "cpu") {
      text += fmt::format(" at the level {}",
                          environment.value("cpu_capability", std::string("unknown")));
      if (!levels.empty()) text += fmt::format("; {} can be judged", enumerate(levels));
    } else if (machine.contains(device)) {
      text += ": " + machine.value(device, "");
    }
    findings.push_back({Health::good, "device " + device, std::move(text), ""});
  }
  if (!contains(kinds, "cuda") && machine.contains("cuda:0"))
    findings.push_back(finding_of_missed_cuda(machine, torch));
  add_missed_kinds(paths, torch, std::move(kinds), findings);
  return findings;
}

}  // namespace lockstep
