#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/earlier.h"
#include "commands/errors.h"
#include "commands/torches.h"
#include "record/alike.h"
#include "record/fingerprints.h"
#include "record/log.h"
#include "requests/decode.h"
#include "run/interrupts.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kLogsRead = 20;  ///< of earlier runs, for what shows a fingerprint

/// What a wheel is for a bisection.
enum class Wheel { good, bad, untestable };

/// What was found with a version.
struct WheelTrial {
  Wheel wheel = Wheel::untestable;
  std::string git;  ///< the commit of its torch
};

/// A bisection: where it lies, what it runs, and what was tried.
struct Bisection {
  const BisectOptions& options;
  RunRequest request;
  fs::path folder;
  std::vector<std::string> versions;  ///< the oldest first
  std::map<std::size_t, WheelTrial> tried;
};

std::vector<const Verdict*> that_show(const RunRecord& record, const std::string& fingerprint) {
  std::vector<const Verdict*> found;
  for (const Verdict& verdict : record.verdicts) {
    const auto all = explained_fingerprints_of(verdict);
    if (std::any_of(all.begin(), all.end(),
                    [&](const Fingerprint& each) { return each.name == fingerprint; }))
      found.push_back(&verdict);
  }
  return found;
}

/// What to run: what is chosen, or the smallest verdict of an earlier run that shows it.
Answer<RunRequest> what_shows(const BisectOptions& options) {
  RunRequest request;
  request.basis = options.basis;
  const Choice& choice = options.basis.choice;
  if (!choice.select.empty() || !choice.level.empty()) return request;
  std::vector<fs::path> folders = {options.basis.at.runs};
  std::error_code error;
  for (const auto& gate : fs::directory_iterator(options.basis.at.cache / "gates", error))
    folders.push_back(gate.path());
  for (const fs::path& run : runs_in(folders, kLogsRead)) {
    const auto record = read_log(run);
    if (!record) continue;
    const auto shown = that_show(*record, options.fingerprint);
    const auto asked = request_of_log(run, options.basis.at);
    if (shown.empty() || !asked) continue;
    const Verdict* smallest =
        *std::min_element(shown.begin(), shown.end(),
                          [](const Verdict* a, const Verdict* b) { return is_smaller(*a, *b); });
    request.basis = asked->basis;
    request.basis.choice = {};
    request.basis.choice.select = {smallest->facts.id};
    return request;
  }
  return refuse(
      Exit::usage,
      {fmt::format("found no run with the fingerprint {}, expected one among the {} "
                   "latest in {}",
                   one_line(options.fingerprint), kLogsRead, options.basis.at.runs.string()),
       "name a case that shows it behind the versions: bisect FINGERPRINT GOOD BAD ID"});
}

/// The versions, each once: of wheels of one version pip takes the one that fits.
std::vector<std::string> without_kinds(const std::vector<std::string>& versions) {
  std::vector<std::string> all;
  for (const std::string& each : versions) {
    std::string version = each.substr(0, each.find('+'));
    if (all.empty() || all.back() != version) all.push_back(std::move(version));
  }
  return all;
}

/// Runs a version, or takes its run that is there.
Answer<WheelTrial> try_wheel(const Bisection& bisection, const std::string& version) {
  const BisectOptions& options = bisection.options;
  const fs::path log = bisection.folder / version;
  WheelTrial trial;
  if (!seconds_of_run(log)) {
    const auto found = find_torches(options.basis.at, {version}, options.index);
    if (!found)
      return found.error().exit == Exit::usage ? Answer<WheelTrial>(trial)
                                               : tl::unexpected(found.error());
    const auto torches = provide_torches(options.basis.at, *found, options.index);
    if (!torches) return trial;
    RunRequest request = bisection.request;
    std::error_code error;
    fs::remove_all(log, error);  // what ended early
    request.out = log;
    request.reporting.quiet = true;
    const auto status = call_with(torches->front(), options.basis.at, words_of(request),
                                  request.basis.at.directory);
    if (interrupted()) return tl::unexpected(Failure{Exit::interrupted, {}, {}});
    if (!status || *status > static_cast<int>(Exit::failures)) return trial;
  }
  const auto record = read_log(log);
  if (!record) return refuse(Exit::internal, record.error());
  trial.git = said_by(record->environment, "eager", "torch_git");
  const bool judged =
      std::any_of(record->verdicts.begin(), record->verdicts.end(),
                  [](const Verdict& each) { return info(each.found.status).judged(); });
  trial.wheel = !that_show(*record, options.fingerprint).empty() ? Wheel::bad
                : judged                                         ? Wheel::good
                                                                 : Wheel::untestable;
  return trial;
}

Answer<Wheel> meet(Bisection& bisection, std::size_t place) {
  const std::string& version = bisection.versions[place];
  const auto trial = try_wheel(bisection, version);
  if (!trial) return tl::unexpected(trial.error());
  constexpr std::string_view kWords[] = {"good", "bad", "cannot be told"};
  fmt::print("{:<24}  {}\n", version, kWords[static_cast<std::size_t>(trial->wheel)]);
  bisection.tried[place] = *trial;
  return trial->wheel;
}

/// The untried version between two that is nearest to their middle.
std::optional<std::size_t> next_between(const Bisection& bisection, std::size_t good,
                                        std::size_t bad) {
  std::optional<std::size_t> best;
  const auto distance = [&](std::size_t place) {
    return 2 * place > good + bad ? 2 * place - good - bad : good + bad - 2 * place;
  };
  for (std::size_t place = good + 1; place < bad; ++place) {
    if (bisection.tried.contains(place)) continue;
    if (!best || distance(place) < distance(*best)) best = place;
  }
  return best;
}

bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// The script of `git bisect run`, in a checkout of torch.
std::string script_of(const Bisection& bisection) {
  const std::string& lockstep = bisection.options.basis.at.launcher;
  std::vector<std::string> words;
  for (const std::string& word : words_of(bisection.request)) words.push_back(shell_quote(word));
  return fmt::format(
      "#!/bin/sh\n"
      "# For `git bisect run`, in a checkout of PyTorch whose Python is LOCKSTEP_PYTHON.\n"
      "# It builds torch and asks Lockstep: 0 is good, 1 bad, 125 cannot be told.\n"
      "git submodule update --init --recursive --quiet || exit 125\n"
      "\"${{LOCKSTEP_PYTHON:-python3}}\" -m pip install --no-build-isolation -v -e . >build.log "
      "2>&1 "
      "|| exit 125\n"
      "run=$(mktemp -d)\n"
      "cd / || exit 125\n"
      "{0} {1} --quiet --out \"$run/run\"\n"
      "[ $? -le 1 ] || exit 125\n"
      "{0} list {2} --from \"$run/run\" >/dev/null 2>&1 && exit 1\n"
      "exit 0\n",
      lockstep, fmt::join(words, " "), shell_quote("fingerprint:" + bisection.options.fingerprint));
}

/// What was found, and how to go on among the commits of torch.
Exit conclude(const Bisection& bisection, std::size_t good, std::size_t bad) {
  fmt::print("\n{} came between {} (good) and {} (bad)\n", bisection.options.fingerprint,
             bisection.versions[good], bisection.versions[bad]);
  for (std::size_t place = good + 1; place < bad; ++place)
    fmt::print("{} could not be told\n", bisection.versions[place]);
  const std::string &from = bisection.tried.at(good).git, &to = bisection.tried.at(bad).git;
  if (!is_commit(from) || !is_commit(to) || from == to) return Exit::ok;
  const fs::path script = bisection.folder / "git-bisect.sh";
  std::error_code error;
  if (auto written = write_file(script, script_of(bisection)); !written)
    return tell({Exit::internal, {written.error()}});
  fs::permissions(script, fs::perms::owner_exec, fs::perm_options::add, error);
  fmt::print(
      "https://github.com/pytorch/pytorch/compare/{0}...{1}\n"
      "Its commits, in a checkout of PyTorch:\n"
      "    git bisect start {1} {0} && git bisect run {2}\n",
      from, to, shell_quote(script.string()));
  return Exit::ok;
}

Answer<Bisection> begin(const BisectOptions& options) {
  auto request = what_shows(options);
  if (!request) return tl::unexpected(request.error());
  auto versions = versions_between(options.basis.at, options.good, options.bad, options.index);
  if (!versions) return tl::unexpected(versions.error());
  Bisection bisection{options, std::move(*request), {}, without_kinds(*versions), {}};
  if (bisection.versions.size() < 2)
    return refuse(Exit::usage,
                  {fmt::format("found {} of torch between {} and {}, expected two or more",
                               bisection.versions.empty() ? "no wheel" : "one wheel", options.good,
                               options.bad),
                   "--index-url names an index that has them"});
  bisection.folder =
      fs::absolute(options.basis.at.cache / "bisects" /
                   folder_name(options.fingerprint + "-" + words_for(bisection.request)));
  return bisection;
}

Exit carry_out(const BisectOptions& options) {
  watch_for_interrupts();
  auto bisection = begin(options);
  if (!bisection) return tell(bisection.error());
  std::size_t good = 0, bad = bisection->versions.size() - 1;
  fmt::print("{} with {}: {} wheels\n", options.fingerprint, words_for(bisection->request),
             bisection->versions.size());
  for (const auto& [place, wanted] : {std::pair(bad, Wheel::bad), std::pair(good, Wheel::good)}) {
    const auto wheel = meet(*bisection, place);
    if (!wheel) return tell(wheel.error());
    if (*wheel == wanted) continue;
    print_error({fmt::format("{} is not {} for {}", bisection->versions[place],
                             wanted == Wheel::bad ? "bad" : "good", options.fingerprint),
                 "name other versions, or a case that shows it behind them"});
    return Exit::failures;
  }
  while (const auto place = next_between(*bisection, good, bad)) {
    const auto wheel = meet(*bisection, *place);
    if (!wheel) return tell(wheel.error());
    if (*wheel == Wheel::good) good = *place;
    if (*wheel == Wheel::bad) bad = *place;
  }
  return conclude(*bisection, good, bad);
}

}  // namespace

Exit command_bisect(const BisectOptions& options) { return carry_out(options); }

}  // namespace lockstep
