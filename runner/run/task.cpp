#include "run/task.h"

namespace lockstep {

std::vector<StorageFile> storage_files(const InputSet& inputs) {
  std::vector<StorageFile> files;
  for (const Json& storage : inputs.storages)
    files.push_back({storage["file"].get<std::string>(), storage["bytes"].get<std::uint64_t>()});
  return files;
}

}  // namespace lockstep
