#include "workers/eager/state.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>

#include "workers/eager/fnv1a.h"
#include "workers/eager/names.h"

namespace lockstep::eager {
namespace {

using nlohmann::ordered_json;

std::string generator_digest(c10::Device device) {
  const at::Tensor state = generator_state(device);
  return Fnv1a()
      .add({static_cast<const char*>(state.const_data_ptr()),
            static_cast<std::size_t>(state.numel())})
      .hex();
}

/// "bfloat16" where autocast is enabled, "off" where it is not.
std::string autocast_of(c10::DeviceType device) {
  if (!at::autocast::is_autocast_enabled(device)) return "off";
  return dtype_name(at::autocast::get_autocast_dtype(device));
}

}  // namespace

at::Tensor generator_state(c10::Device device) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void set_generator_state(c10::Device device, const at::Tensor& state) {
  at::Generator generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

ordered_json observe_state(c10::Device device) {
  ordered_json generators = {{"cpu", generator_digest(c10::kCPU)}};
  if (device != c10::kCPU) generators[device.str()] = generator_digest(device);

  at::Context& context = at::globalContext();
  const char* deterministic = !context.deterministicAlgorithms()          ? "off"
                              : context.deterministicAlgorithmsWarnOnly() ? "warn"
                                                                          : "on";
  ordered_json modes = {{"grad", c10::GradMode::is_enabled()},
                        {"inference", c10::InferenceMode::is_enabled()},
                        {"default_dtype", dtype_name(c10::get_default_dtype_as_scalartype())},
                        {"deterministic_algorithms", deterministic},
                        {"autocast_cpu", autocast_of(c10::kCPU)},
                        {"threads", at::get_num_threads()}};
  // What no operator touches (compiled/lockstep_worker/state.py, SURROUNDINGS).
  for (const char* name :
       {"environment", "signals", "python_random", "default_device", "matmul_precision", "anomaly",
        "rounding", "subnormals", "warning_filters"})
    modes[name] = "as before";
  if (device.type() != c10::kCPU && at::autocast::is_autocast_available(device.type())) {
    modes["autocast_" + c10::DeviceTypeName(device.type(), /*lower_case=*/true)] =
        autocast_of(device.type());
  }
  return {{"generators", std::move(generators)}, {"modes", std::move(modes)}};
}

Versions::Versions(const NamedValues& inputs) {
  const auto storage_of = [](const at::Tensor& tensor) {
    return tensor.has_storage() ? tensor.storage().unsafeGetStorageImpl() : nullptr;
  };
  std::map<const void*, int> sharing;
  for (const auto& [name, value] : inputs) {
    if (value.isTensor()) ++sharing[storage_of(value.toTensor())];
  }
  for (const auto& [name, value] : inputs) {
    if (!value.isTensor() || value.toTensor().is_inference()) continue;
    if (sharing[storage_of(value.toTensor())] > 1) continue;
    tensors_.emplace_back(name, value.toTensor());
    before_.push_back(value.toTensor()._version());
  }
}

std::vector<std::string> Versions::counted() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    if (tensors_[i].second._version() != before_[i]) names.push_back(tensors_[i].first);
  }
  return names;
}

void Memory::note(const NamedValues& inputs, const NamedValues& outputs) {
  calls_.emplace_back();
  for (const NamedValues* values : {&inputs, &outputs}) {
    for (const auto& [name, value] : *values) add(name, value);
  }
}

void Memory::add(const std::string& name, const c10::IValue& value) {
  if (value.isTensor() && value.toTensor().defined() && value.toTensor().has_storage())
    calls_.back().emplace_back(name, value.toTensor().storage().getWeakStorageImpl());
  if (!value.isList() && !value.isTuple()) return;
  const auto items = value.isTuple() ? value.toTupleRef().elements().vec() : value.toList().vec();
  for (const c10::IValue& item : items) add(name, item);
}

void Memory::settle(ordered_json& runs) const {
  std::size_t at = 0;
  for (ordered_json& run : runs) {
    for (ordered_json& call : run["calls"]) {
      std::vector<std::string> kept;
      for (const auto& [name, weak] : calls_.at(at)) {
        const bool known = std::find(kept.begin(), kept.end(), name) != kept.end();
        if (!weak.expired() && !known) kept.push_back(name);
      }
      ++at;
      call["state"]["kept"] = std::move(kept);
    }
  }
}

}  // namespace lockstep::eager
