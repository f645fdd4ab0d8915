#include "run/operators.h"

#include <algorithm>

#include "base/launcher.h"
#include "base/spawn.h"
#include "engine/scratch.h"
#include "run/python_worker.h"
#include "run/workers.h"

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

std::shared_ptr<const PythonOperators> operators_of_modules(const SessionSettings& settings,
                                                            const std::vector<Path>& paths) {
  struct Question {
    Json modules;
    std::vector<std::pair<std::string, std::string>> environment;
    bool own = false;  ///< the user's; a path whose modules are not there is absent
    bool operator==(const Question&) const = default;
  };
  std::vector<Question> questions;
  if (!settings.files.modules.empty())
    questions.push_back({settings.files.modules, compiled_worker(settings).environment, true});
  for (const Path& path : paths) {
    Json modules = path.declared.value("import", Json::array());
    if (path.worker != "compiled" || modules.empty()) continue;
    Question question{std::move(modules), worker_of(path, settings).environment};
    if (std::find(questions.begin(), questions.end(), question) == questions.end())
      questions.push_back(std::move(question));
  }
  if (questions.empty()) return nullptr;
  const auto ask = [worker = compiled_worker(settings), libraries = settings.files.libraries,
                    questions = std::move(questions)]() mutable -> Result<std::set<std::string>> {
    std::set<std::string> names;
    for (const Question& question : questions) {
      Json request = {{"modules", question.modules}, {"libraries", Json::array()}};
      for (const fs::path& library : libraries) request["libraries"].push_back(library.string());
      // Not a resident one: it has imported more, whose operators would be missing.
      worker.environment = question.environment;
      const auto answer = ask_python_worker(worker, "operators", request);
      if (!answer) return tl::unexpected(answer.error());
      if (question.own && answer->contains("error"))
        return fail(answer->value("error", std::string()));
      for (std::string& name : strings_of(*answer, "operators")) names.insert(std::move(name));
    }
    return names;
  };
  return std::make_shared<const PythonOperators>(ask);
}

Result<std::optional<Registry>> read_operators(const SessionSettings& settings) {
  auto read = settings.files.libraries.empty() ? Registry::read(settings.schemas)
                                               : dump_operators(settings);
  if (read) return std::optional(std::move(*read));
  if (settings.files.libraries.empty()) return std::optional<Registry>();
  return tl::unexpected(read.error());
}

}  // namespace lockstep
