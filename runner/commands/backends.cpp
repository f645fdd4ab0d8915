#include "commands/backends.h"

#include <fmt/format.h>

#include "base/reader.h"
#include "base/text.h"
#include "run/python_worker.h"
#include "run/workers.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// What `python -m lockstep_worker backends` says.
Result<Json> ask(const SessionSettings& settings, const Path& path) {
  Json request = {{"import", path.declared.value("import", Json::array())},
                  {"libraries", Json::array()}};
  for (const fs::path& library : settings.files.libraries)
    request["libraries"].push_back(library.string());
  return ask_python_worker(worker_of(path, settings), "backends", request);
}

/// A member that must be a string.
std::string text_of(const Json& answer, const char* key) {
  const auto found = answer.find(key);
  return found != answer.end() && found->is_string() ? found->get<std::string>() : "";
}

void check_answer(const Path& path, const Json& answer, Diagnostics& diagnostics) {
  Reader reader(*path.file, diagnostics);
  const Node root{&path.file->root, ""};
  if (const std::string error = text_of(answer, "error"); !error.empty()) {
    const bool imports = reader.child(root, "import").has_value();
    reader.error(imports ? "/import" : "/backend", one_line(error),
                 "a folder that has the module goes into `environment`: {\"PYTHONPATH\": \"...\"}");
    return;
  }
  std::vector<std::string> known;
  reader.each_text(reader.child({&answer, ""}, "backends"),
                   [&](const Node&, const std::string& name) { known.push_back(name); });
  const auto backend = path.declared.at("backend").get<std::string>();
  if (contains(known, backend)) return;
  std::string hint = reader.suggestion(backend, known);
  if (!reader.child(root, "import")) {
    hint += fmt::format("{}a module that registers a backend is named in `import`",
                        hint.empty() ? "" : "; ");
  }
  reader.error("/backend",
               fmt::format("found `{}`, expected a backend that is registered with torch {}",
                           one_line(backend, 60), one_line(text_of(answer, "torch"), 60)),
               std::move(hint));
}

}  // namespace

std::vector<std::string> check_backends(const SessionSettings& settings,
                                        const std::vector<Path>& paths, Diagnostics& diagnostics) {
  std::vector<std::string> unknown;
  for (const Path& path : paths) {
    if (!path.added || path.worker != "compiled" || !path.compiles || path.torchs_own) continue;
    if (const auto answer = ask(settings, path)) {
      check_answer(path, *answer, diagnostics);
    } else {
      unknown.push_back(fmt::format(
          "{}: not checked whether torch has the backend `{}`, since the Python worker cannot say: "
          "{}",
          one_line(path.file->name), one_line(path.declared.at("backend").get<std::string>(), 60),
          answer.error().message));
    }
  }
  return unknown;
}

}  // namespace lockstep
