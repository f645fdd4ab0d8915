#include "engine/saved.h"

#include "base/digest.h"

namespace lockstep {
namespace fs = std::filesystem;

fs::path saved_folder(const fs::path& below, const std::string& job, std::size_t part) {
  return below / Digest().add(job).hex() / std::to_string(part);
}

void save_part(const fs::path& out, const fs::path& below, const std::string& job,
               std::size_t part) {
  const fs::path folder = saved_folder(below, job, part);
  std::error_code error;
  fs::remove_all(folder, error);
  fs::create_directories(folder, error);
  for (const auto& entry : fs::directory_iterator(out, error)) {
    const std::string name = entry.path().filename().string();
    // A stranger wrote here: no link is followed.
    if (!entry.is_regular_file(error) || entry.is_symlink(error) || name == "stderr" ||
        name == "program.py")
      continue;
    fs::copy_file(entry.path(), folder / name, error);
    if (!error) continue;
    fs::remove_all(folder, error);
    return;
  }
}

}  // namespace lockstep
