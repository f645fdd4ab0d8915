#include "commands/explain_closing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/files.h"
#include "base/text.h"
#include "commands/earlier.h"
#include "commands/errors.h"
#include "record/explanation.h"
#include "record/gate_rows.h"
#include "record/log.h"
#include "requests/decode.h"
#include "run/interrupts.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kOfOne = 120;  ///< seconds; enough for most
constexpr double kTooFew = 5;   ///< seconds in which nothing is found

/// What explains a verdict: the words of its run, of which `explain` takes the files and the pace.
std::vector<std::string> words_to_explain(const RunRequest& request, const std::string& id,
                                          const fs::path& file, double seconds) {
  RunRequest one;
  one.basis = request.basis;
  one.basis.choice = {};
  one.basis.choice.select = {id};
  one.basis.no_cache = false;
  const Pace pace = request.basis.pace;
  one.basis.pace = {};
  one.basis.pace.jobs = pace.jobs;
  one.basis.pace.threads = pace.threads;
  one.basis.files.known_files.clear();
  one.basis.files.expectations = true;
  std::vector<std::string> words = words_of(one);
  words.front() = "explain";
  words.insert(words.end(), {fmt::format("--seconds={:.0f}", seconds), "--json", "--to",
                             fs::absolute(file).string()});
  return words;
}

/// What `explain` wrote.
Result<Json> read_explanation(const fs::path& file) {
  const auto text = read_file(file, kLargestJson);
  if (!text) return tl::unexpected(text.error());
  Json json = Json::parse(*text, nullptr, false);
  if (json.is_discarded() || !json.is_object()) return fail("explain wrote no explanation");
  if (auto good = check_explanation(json); !good) return tl::unexpected(good.error());
  return json;
}

}  // namespace

void explain_closing(const Gate& gate, RunRecord& after, const GateSides& sides,
                     const GateOptions& options) {
  const auto request = request_of_log(sides.later.log, options.basis.at);
  auto log = RunLog::reopen(sides.later.log);
  if (!request || !log) return;
  const fs::path file = sides.folder / "explanation.json";
  const auto begun = Clock::now();
  std::size_t left = 0;
  for (const GateRow& row : rows_of(gate)) {
    if (!row.fails || !row.explained.empty() || !row.example->change.after) continue;
    Verdict& verdict = after.verdicts[*row.example->change.after];
    if (!info(verdict.found.status).expectable()) continue;
    const double rest =
        options.explain_seconds - std::chrono::duration<double>(Clock::now() - begun).count();
    if (rest < kTooFew || interrupted()) {
      ++left;
      continue;
    }
    print_people(stderr, fmt::format("lockstep: explaining {}\n", verdict.facts.id));
    const auto words = words_to_explain(*request, verdict.facts.id, file, std::min(rest, kOfOne));
    const auto status =
        call_with(*sides.later.torch, options.basis.at, words, request->basis.at.directory);
    auto found = status && *status <= static_cast<int>(Exit::failures)
                     ? read_explanation(file)
                     : Result<Json>(fail(fmt::format("{} cannot be explained", verdict.facts.id)));
    if (found)
      found = log->explanation(*found) ? found : Result<Json>(fail("cannot write the log"));
    if (found)
      verdict.account.explained = std::move(*found);
    else if (!interrupted())
      print_error(found.error());
  }
  std::error_code error;
  fs::remove(file, error);
  if (left > 0)
    print_people(stderr, fmt::format("lockstep: time is over: {} of what closes the gate {} not "
                                     "explained; --explain SECONDS gives more\n",
                                     left, left == 1 ? "is" : "are"));
}

}  // namespace lockstep
