#include "run/python_worker.h"

#include "base/files.h"
#include "base/json.h"
#include "engine/scratch.h"

namespace lockstep {
namespace fs = std::filesystem;

Spawn questioning(const WorkerSpec& worker, const std::string& word, const fs::path& question,
                  const fs::path& answer, const fs::path& errors) {
  Spawn spawn{worker.argv, worker.environment, question, answer, errors};
  spawn.argv.push_back(word);
  return spawn;
}

Result<Json> ask_python_worker(const WorkerSpec& worker, const std::string& word,
                               const Json& question) {
  auto scratch = Scratch::create();
  if (!scratch) return tl::unexpected(scratch.error());
  const fs::path input = scratch->path() / "request.json";
  const fs::path output = scratch->path() / "answer.json";
  if (auto written = write_file(input, question.dump()); !written)
    return tl::unexpected(written.error());
  const auto done =
      run_to_end(questioning(worker, word, input, output, scratch->path() / "stderr"));
  if (!done) return tl::unexpected(done.error());
  Diagnostics wrong;
  auto answer = read_json(output, "the answer of the Python worker", wrong);
  if (!answer) return fail(to_string(wrong.front()));
  return std::move(answer->root);
}

}  // namespace lockstep
