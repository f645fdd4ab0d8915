#include "run/python_worker.h"

#include "base/files.h"
#include "base/json.h"
#include "base/spawn.h"
#include "engine/scratch.h"

namespace lockstep {
namespace fs = std::filesystem;
Result<Json> ask_python_worker(
    const std::string& python, const std::string& word, const Json& question,
    const std::vector<std::pair<std::string, std::string>>& environment) {
  auto scratch = Scratch::create();
  if (!scratch) return tl::unexpected(scratch.error());
  const fs::path input = scratch->path() / "request.json";
  const fs::path output = scratch->path() / "answer.json";
  if (auto written = write_file(input, question.dump()); !written)
    return tl::unexpected(written.error());
  auto done = run_to_end({{python, "-W", "ignore", "-m", "lockstep_worker", word},
                          environment,
                          input,
                          output,
                          scratch->path() / "stderr"});
  if (!done) return tl::unexpected(done.error());
  Diagnostics wrong;
  auto answer = read_json(output, "the answer of the Python worker", wrong);
  if (!answer) return fail(to_string(wrong.front()));
  return std::move(answer->root);
}

}  // namespace lockstep
