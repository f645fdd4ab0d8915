#include "record/alike.h"

#include "base/json.h"

namespace lockstep {

std::vector<std::string> other_digests(const RunInfo& a, const RunInfo& b) {
  std::vector<std::string> names;
  std::map<std::string, std::string> all = a.digests;
  all.insert(b.digests.begin(), b.digests.end());
  const auto of = [](const RunInfo& info, const std::string& name) {
    const auto found = info.digests.find(name);
    return found == info.digests.end() ? std::string() : found->second;
  };
  for (const auto& [name, digest] : all) {
    if (of(a, name) != of(b, name)) names.push_back(name);
  }
  return names;
}

std::string said_by(const nlohmann::ordered_json& environment, std::string_view worker,
                    std::string_view key) {
  const auto values = environment.find(worker);
  if (values == environment.end() || !values->is_object()) return {};
  const auto found = values->find(key);
  return found == values->end() ? std::string() : plain_text(*found);
}

std::vector<OtherSetting> other_settings(const nlohmann::ordered_json& one,
                                         const nlohmann::ordered_json& other) {
  std::vector<OtherSetting> settings;
  if (!one.is_object() || !other.is_object()) return settings;
  for (const char* key : {"torch", "torch_git", "cpu_capability", "operators_digest"}) {
    const auto a = one.find(key), b = other.find(key);
    if (a != one.end() && b != other.end() && *a != *b) settings.push_back({key, *a, *b});
  }
  return settings;
}

std::vector<OtherSetting> other_pins(const nlohmann::ordered_json& eager,
                                     const nlohmann::ordered_json& worker) {
  std::vector<OtherSetting> pins;
  for (const auto& [key, value] : eager.items()) {
    const auto other = worker.find(key);
    if (key.starts_with("pin ") && other != worker.end() && *other != value)
      pins.push_back({key, value, *other});
  }
  return pins;
}

}  // namespace lockstep
