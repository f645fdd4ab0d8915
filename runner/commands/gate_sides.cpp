#include "commands/gate_sides.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "commands/earlier.h"
#include "commands/errors.h"
#include "record/log.h"
#include "requests/decode.h"
#include "requests/open.h"
#include "requests/selection.h"
#include "requests/settle.h"
#include "run/interrupts.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The log of a run that a word names: a log, a run's directory, or the name of one among the runs.
fs::path run_named(const std::string& word, const Surroundings& at) {
  if (word.empty()) return at.runs / "latest";
  std::error_code error;
  for (const fs::path& each : {at.directory / word, at.runs / word}) {
    if (fs::exists(each / RunLog::kFileName, error)) return each;
    const bool is_log = fs::exists(each, error) && !fs::is_directory(each, error) &&
                        ::access(each.c_str(), X_OK) != 0;
    if (is_log) return each;
  }
  return {};
}

bool chooses(const Choice& choice) {
  return !choice.select.empty() || !choice.level.empty() || !choice.paths.empty() ||
         !choice.devices.empty() || choice.ladder;
}

/// What is run with a torch: what is chosen, or the same as the run on the other side, else `core`.
RunRequest request_for(const GateOptions& options, const fs::path& other) {
  RunRequest request;
  request.basis = options.basis;
  if (!chooses(options.basis.choice)) {
    if (const auto same = other.empty() ? std::nullopt : request_of_log(other, options.basis.at))
      request = *same;
    else
      request.basis.choice.level = "core";
  }
  return request;
}

/// Refuses what no suite has: a misspelt level, a path that is not there.
Answer<void> check_choice(const RunRequest& request) {
  auto session = open_session(request.basis);
  if (!session) return tl::unexpected(session.error());
  const auto chosen = selection(request.basis, *session, {false, true});
  if (!chosen) return tl::unexpected(chosen.error());
  return {};
}

/// The folder of the runs of one request: it holds no runs of another one.
Answer<fs::path> folder_of_runs(const GateOptions& options, const RunRequest& request) {
  const std::vector<std::string> words = words_of(request);
  std::string asked;
  for (std::size_t i = 1; i < words.size(); ++i) asked += shell_quote(words[i]) + " ";
  const fs::path folder = fs::absolute(
      options.out.empty() ? options.basis.at.cache / "gates" / folder_name(words_for(request))
                          : options.basis.at.directory / options.out);
  std::error_code error;
  if (const fs::path file = folder / "asked"; fs::exists(file, error)) {
    const auto was = read_file(file, 1 << 20);
    if (!was) return refuse(Exit::usage, was.error());
    if (*was != asked + "\n")
      return refuse(Exit::usage,
                    {fmt::format("{} holds runs of: {}", folder.string(), one_line(*was, 1000)),
                     fmt::format("expected: {}; give another --out, or remove this one",
                                 one_line(asked, 1000))});
    return folder;
  }
  fs::create_directories(folder, error);
  if (auto written = write_file(folder / "asked", asked + "\n"); !written)
    return refuse(Exit::internal, written.error());
  return folder;
}

/// Makes the run of one side, or takes the one that is there. Verdicts that fail are the gate's.
Answer<void> make_run(const GateSide& side, RunRequest request) {
  const FoundTorch& torch = *side.torch;
  std::error_code error;
  std::vector<std::string> words;
  if (!fs::exists(side.log / RunLog::kFileName, error)) {
    request.out = side.log;
    request.reporting.quiet = true;
    words = words_of(request);
    print_people(stderr, fmt::format("lockstep: running {} on torch {}\n", words_for(request),
                                     torch.version));
  } else if (seconds_of_run(side.log)) {
    print_people(stderr, fmt::format("lockstep: {} has a run, which is taken as it is\n",
                                     side.log.string()));
    return {};
  } else {
    words = {"run", "--resume", side.log.string()};
    print_people(stderr,
                 fmt::format("lockstep: going on with the run on torch {}\n", torch.version));
  }
  const auto status = call_with(torch, request.basis.at, words, request.basis.at.directory);
  if (!status) return refuse(Exit::internal, status.error());
  if (interrupted()) return tl::unexpected(Failure{Exit::interrupted, {}, {}});
  if (*status <= static_cast<int>(Exit::failures)) return {};
  return refuse(
      static_cast<Exit>(*status),
      {fmt::format("the run on torch {} ended with exit status {}", torch.version, *status),
       "the same command goes on with it"});
}

/// What a run will take: what the other side's took, or an earlier one.
std::optional<double> seconds_before(const GateSides& sides, const RunRequest& request) {
  for (const GateSide* each : {&sides.old, &sides.later}) {
    const auto seconds = each->torch ? std::nullopt : seconds_of_run(each->log);
    if (seconds) return seconds;
  }
  return seconds_of_earlier(request, {sides.folder, request.basis.at.runs});
}

/// Sets up the torches of both sides, and makes their runs.
Answer<void> make_runs(const GateOptions& options, GateSides& sides, RunRequest request) {
  std::vector<FoundTorch> torches;
  std::vector<GateSide*> made;
  for (GateSide* each : {&sides.old, &sides.later}) {
    if (!each->torch) continue;
    if (!each->torch->note.empty())
      print_people(stderr, fmt::format("lockstep: {}\n", each->torch->note));
    each->log = sides.folder / each->torch->name;
    made.push_back(each);
    if (!seconds_of_run(each->log)) torches.push_back(*each->torch);
  }
  if (!torches.empty())
    print_people(stderr, fmt::format("lockstep: {}\n", estimate(words_for(request), torches,
                                                                seconds_before(sides, request))));
  if (std::any_of(torches.begin(), torches.end(),
                  [](const FoundTorch& each) { return !each.ready; })) {
    const auto provided = provide_torches(options.basis.at, torches, options.index);
    if (!provided) return tl::unexpected(provided.error());
    for (const FoundTorch& torch : *provided) {
      for (GateSide* each : made) {
        if (each->torch->word == torch.word) each->torch = torch;
      }
    }
  }
  for (GateSide* each : made) {
    if (auto done = make_run(*each, request); !done) return done;
  }
  return {};
}

std::string minutes(double seconds) {
  return seconds < 90 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.0f} min", seconds / 60);
}

}  // namespace

std::string estimate(const std::string& what, const std::vector<FoundTorch>& torches,
                     std::optional<double> run_seconds) {
  double set_up = 0, bytes = 0;
  bool known = true, any = false;
  for (const FoundTorch& each : torches) {
    any = any || !each.ready;
    known = known && each.seconds && each.bytes;
    set_up += each.seconds.value_or(0);
    bytes += each.bytes.value_or(0);
  }
  const std::string where =
      fmt::format("{} on {}: ", what, torches.size() > 1 ? "both" : torches.front().version);
  const std::string disk = bytes > 0 ? fmt::format("; {:.1f} GB of disk", bytes / 1e9) : "";
  const double runs = run_seconds.value_or(0) * static_cast<double>(torches.size());
  if (run_seconds && !any) return where + "about " + minutes(runs);
  if (run_seconds && known)
    return where + fmt::format("about {}, of which {} set-up{}", minutes(runs + set_up),
                               minutes(set_up), disk);
  if (run_seconds)
    return where + fmt::format("about {}, and the set-up, which is not timed yet", minutes(runs));
  if (any && known)
    return where + fmt::format("about {} set-up{}, and the runs, which are not timed yet",
                               minutes(set_up), disk);
  return where + "not timed yet";
}

Answer<GateSides> gate_sides(const GateOptions& options) {
  GateSides sides{{options.old, {}, {}}, {options.later, {}, {}}, {}};
  const Surroundings& at = options.basis.at;
  std::vector<std::string> words;
  for (GateSide* each : {&sides.old, &sides.later}) {
    each->log = run_named(each->word, at);
    if (each->log.empty()) words.push_back(each->word);
  }
  if (words.empty()) {
    if (chooses(options.basis.choice))
      return refuse(Exit::usage, {"found a selection beside two runs, which are there already",
                                  "a version or an interpreter in place of one of them is run"});
    return sides;
  }
  watch_for_interrupts();
  const RunRequest request =
      request_for(options, sides.old.log.empty() ? sides.later.log : sides.old.log);
  if (auto chosen = check_choice(request); !chosen) return tl::unexpected(chosen.error());
  auto torches = find_torches(at, words, options.index);
  if (!torches) return tl::unexpected(torches.error());
  for (GateSide* each : {&sides.later, &sides.old}) {
    if (!each->log.empty()) continue;
    each->torch = std::move(torches->back());
    torches->pop_back();
  }
  auto folder = folder_of_runs(options, request);
  if (!folder) return tl::unexpected(folder.error());
  sides.folder = std::move(*folder);
  if (auto made = make_runs(options, sides, request); !made) return tl::unexpected(made.error());
  return sides;
}

}  // namespace lockstep
