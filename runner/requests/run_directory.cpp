#include "requests/run_directory.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "record/log.h"

namespace lockstep {
namespace fs = std::filesystem;

Result<fs::path> new_directory(const fs::path& parent, const std::string& now) {
  std::error_code error;
  fs::create_directories(parent, error);
  if (error)
    return fail(fmt::format("cannot make {}: {}", parent.string(), error.message()),
                "--out DIR or LOCKSTEP_CACHE choose another place");
  std::string name = now;
  std::replace(name.begin(), name.end(), ':', '-');
  for (int i = 1; i < 1000; ++i) {
    const fs::path directory = parent / (i == 1 ? name : fmt::format("{}-{}", name, i));
    if (fs::create_directory(directory, error)) return fs::absolute(directory);
    if (error)
      return fail(fmt::format("cannot make {}: {}", directory.string(), error.message()),
                  "--out DIR or LOCKSTEP_CACHE choose another place");
  }
  return fail("cannot find a name for the directory of the run");
}

Result<void> check_out(const fs::path& out) {
  std::error_code error;
  if (out.empty() || !fs::exists(out / RunLog::kFileName, error)) return {};
  return fail(
      fmt::format("found a run in --out {}, expected a directory without one", out.string()),
      fmt::format("give another --out; --resume {} goes on with a run that ended early",
                  out.string()));
}

Result<fs::path> run_directory(const fs::path& given, const fs::path& runs,
                               const std::string& now) {
  if (given.empty()) return new_directory(runs, now);
  std::error_code error;
  fs::create_directories(given, error);
  if (error) return fail(fmt::format("cannot make {}: {}", given.string(), error.message()));
  return fs::absolute(given);
}

void point_latest_at(const fs::path& directory) {
  std::error_code error;
  const fs::path link = directory.parent_path() / "latest";
  const fs::path temporary = directory.parent_path() / fmt::format(".latest-{}", ::getpid());
  fs::create_directory_symlink(directory.filename(), temporary, error);
  fs::rename(temporary, link, error);
}

}  // namespace lockstep
