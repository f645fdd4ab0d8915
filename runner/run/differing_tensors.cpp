#include "run/differing_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "judge/results.h"
#include "run/npy.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// "input x, call 2" as part of a file's name: "input-x-call-2".
std::string file_word(std::string name) {
  std::erase(name, ',');
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

const TensorView* find_tensor(const Observation* observation, const std::string& name) {
  if (observation == nullptr || observation->repetitions.empty()) return nullptr;
  const DataValue* value = find_output(observation->repetitions.front(), name);
  return value == nullptr ? nullptr : std::get_if<TensorView>(value);
}

}  // namespace

Result<void> save_tensors(const fs::path& directory, const std::string& id,
                          const JudgeRequest& request, Findings& found) {
  std::vector<std::pair<std::string_view, const Observation*>> sides = {
      {"eager", reference_of(request)}, {"compiled", request.compiled}};
  for (const GoldInfo& each : all_golds()) {
    if (each.saved) sides.emplace_back(each.name, request.golds[each.gold]);
  }
  for (OutputComparison& output : found.outputs) {
    if (output.status == Status::conform) continue;
    for (const auto& [side, observation] : sides) {
      const TensorView* tensor = find_tensor(observation, output.name);
      if (tensor == nullptr) continue;
      const auto npy = to_npy(*tensor);
      if (!npy) continue;
      const fs::path file = fs::path("tensors") / id /
                            fmt::format("{}.{}{}", file_word(output.name), side, npy->extension);
      std::error_code error;
      fs::create_directories((directory / file).parent_path(), error);  // shows at the write
      if (auto written = write_file(directory / file, npy->bytes); !written) return written;
      output.tensors.push_back(file.string());
    }
  }
  return {};
}

}  // namespace lockstep
