#include "run/task.h"

namespace lockstep {

std::string eager_job(const std::string& instance) { return instance + "/eager"; }
std::string prepare_job(const std::string& instance) { return instance + " (prepare)"; }
std::string gold_job(const std::string& instance, std::string_view mode) {
  return instance + " (" + std::string(mode) + " gold)";
}

std::vector<StorageFile> storage_files(const InputSet& inputs) {
  std::vector<StorageFile> files;
  for (const Json& storage : inputs.storages)
    files.push_back({storage["file"].get<std::string>(), storage["bytes"].get<std::uint64_t>()});
  return files;
}

}  // namespace lockstep
