#include "run/operators.h"

#include "base/launcher.h"
#include "base/spawn.h"
#include "engine/scratch.h"

namespace lockstep {
namespace fs = std::filesystem;

Result<Registry> dump_operators(const SessionSettings& settings) {
  auto scratch = Scratch::create();
  if (!scratch) return tl::unexpected(scratch.error());
  const fs::path file = scratch->path() / "schemas.json", log = scratch->path() / "stderr";
  Spawn dump{{settings.eager.string(), "schemas"}, {}, {}, file, log};
  for (const fs::path& library : settings.files.libraries) dump.argv.push_back(library.string());
  if (auto done = run_to_end(dump); !done) {
    return fail("lockstep-eager cannot dump the operator schemas: " + done.error().message,
                settings.files.libraries.empty()
                    ? "remove eager/ in the cache, and it is built again"
                    : typed("doctor") + " says whether it works without --library");
  }
  return Registry::read(file);
}

Result<std::optional<Registry>> read_operators(const SessionSettings& settings) {
  auto read = settings.files.libraries.empty() ? Registry::read(settings.schemas)
                                               : dump_operators(settings);
  if (read) return std::optional(std::move(*read));
  if (settings.files.libraries.empty()) return std::optional<Registry>();
  return tl::unexpected(read.error());
}

}  // namespace lockstep
