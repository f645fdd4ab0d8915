#include "run/operators.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/files.h"
#include "base/text.h"
#include "engine/scratch.h"

namespace lockstep {
namespace fs = std::filesystem;

Result<Registry> dump_operators(const SessionSettings& settings) {
  auto scratch = Scratch::create();
  if (!scratch) return tl::unexpected(scratch.error());
  const fs::path file = scratch->path() / "schemas.json", log = scratch->path() / "stderr";
  std::string command = shell_quote(settings.eager.string()) + " schemas";
  for (const fs::path& library : settings.libraries) command += " " + shell_quote(library.string());
  command += fmt::format(" > {} 2> {}", shell_quote(file.string()), shell_quote(log.string()));
  if (std::system(command.c_str()) != 0) {
    const std::string said = read_file(log).value_or("");
    return fail(fmt::format("lockstep-eager cannot dump the operator schemas: {}",
                            one_line(said.substr(said.size() > 1000 ? said.size() - 1000 : 0))),
                settings.libraries.empty() ? "build again: remove .lockstep/build"
                                           : "`ci/lockstep doctor` says whether it works without "
                                             "--library");
  }
  return Registry::read(file);
}

Result<std::optional<Registry>> read_operators(const SessionSettings& settings) {
  auto read =
      settings.libraries.empty() ? Registry::read(settings.schemas) : dump_operators(settings);
  if (read) return std::optional(std::move(*read));
  if (settings.libraries.empty()) return std::optional<Registry>();
  return tl::unexpected(read.error());
}

}  // namespace lockstep
