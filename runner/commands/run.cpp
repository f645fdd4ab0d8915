#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>

#include "base/text.h"
#include "commands/artefacts.h"
#include "commands/commands.h"
#include "commands/elsewhere.h"
#include "commands/errors.h"
#include "commands/explaining.h"
#include "commands/finish.h"
#include "commands/open.h"
#include "commands/packing.h"
#include "commands/resume.h"
#include "commands/run_directory.h"
#include "commands/selection.h"
#include "plan/shard.h"
#include "record/judged.h"
#include "record/machine.h"
#include "reports/console.h"
#include "reports/terminal.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Whoever asks for no more instances than these by their ids wants to see each one's numbers.
constexpr std::size_t kFew = 5;

/// Whether ids without a wildcard are asked for.
bool names_ids(const Filter& filter) {
  const std::vector<std::string> ids = filter.ids();
  return !ids.empty() && std::all_of(ids.begin(), ids.end(), [](const std::string& id) {
    return id.find_first_of("*?") == std::string::npos;
  });
}

/// Where an interactive console writes, and how.
ConsoleOptions console_options(const Options& options) {
  const Terminal terminal = real_terminal();
  const ColorChoice choice = color_choice(options.color);
  ConsoleOptions console;
  console.color_out = use_color(terminal, terminal.out_is_terminal, choice);
  console.color_err = use_color(terminal, terminal.err_is_terminal, choice);
  console.live = use_live_line(terminal);
  console.columns = terminal.columns;
  if (terminal.out_is_terminal) console.wrap = terminal.columns;
  console.verbose = options.verbose;
  console.quiet = options.quiet;
  console.strict = options.strict;
  const auto start = std::chrono::steady_clock::now();
  console.clock = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  return console;
}

/// A directory in which nothing was run.
void remove_unused(const fs::path& directory, const Options& options) {
  std::error_code error;
  fs::remove(directory / "worker-eager.log", error);
  if (options.out.empty() && options.resume.empty()) fs::remove(directory, error);
}

/// The command that runs again what fails in this run.
std::string again(const Options& options, const RunSettings& settings, const fs::path& directory) {
  std::string command =
      fmt::format("{} {} status:failing --from {}", settings.launcher, settings.command,
                  shell_quote(fs::absolute(directory).string()));
  if (options.strict) command += " --strict";
  return command + settings.repro_options;
}

}  // namespace

Exit command_run(const Options& given) {
  Options options = given;
  std::optional<Service> service;
  if (given.command == "serve") {
    auto begun = begin_service();
    if (!begun) {
      print_error(begun.error());
      return Exit::usage;
    }
    service = std::move(*begun);
    options = service->options;
  }
  watch_for_interrupts();
  const bool packs = given.command == "pack";
  std::optional<PackInfo> replayed;
  if (given.command == "replay") {
    auto opened = open_pack(options);
    if (!opened) return opened.error();
    replayed = std::move(*opened);
  }
  std::optional<RunRecord> resumed;
  if (!given.resume.empty()) {
    auto resumption = read_resumption(given);
    if (!resumption) {
      print_error(resumption.error());
      return Exit::usage;
    }
    options = std::move(resumption->options);
    resumed = std::move(resumption->record);
  } else if (auto unused = check_out(options.out); !unused) {
    print_error(unused.error());
    return Exit::usage;
  }
  std::optional<KnobTable> knobs;
  if (options.explain_seconds > 0 && !(knobs = knobs_of(options))) return Exit::usage;
  if (packs) {
    if (auto begun = begin_packing(options); !begun) return begun.error();
  }
  auto session = open_session(options);
  if (!session) return session.error();
  auto selected = selection(options, *session);
  if (!selected) return selected.error();
  if (packs && !names_paths(selected->filter))
    selected->filter = selected->filter.on_paths(packaging_paths(session->suite().paths));
  const std::string now = utc_now();
  const auto directory = run_directory(options, now);
  if (!directory) {
    print_error(directory.error());
    return Exit::internal;
  }
  if (auto ready = session->start(*directory).and_then([&] { return session->meet_torch(); });
      !ready) {
    if (interrupted()) return Exit::interrupted;
    print_error(ready.error());
    return Exit::internal;
  }

  PlanRequest request = session->plan_request(selected->filter);
  request.earlier = &selected->earlier;
  request.ignore_declared = options.ignore_declared;
  request.alone = options.alone || replayed;  // as it was packed
  if (auto meant = check_terms(request); !meant) {
    remove_unused(*directory, options);
    return meant.error();
  }
  const std::size_t instances = instance_ids(request).size();
  if (instances == 0) {
    remove_unused(*directory, options);
    return nothing_selected(request);
  }
  // Where a report is the data on standard output, what people read goes to standard error.
  ConsoleOptions look = console_options(options);
  look.explain_known = instances <= kFew && names_ids(request.filter);
  Console console(writes_to_stdout(options) ? std::cerr : std::cout, std::cerr, look);
  session->engine().on_note = [&](const std::string& text) { console.note(text); };
  auto absent = session->leave_out_absent(request, options.ladder);
  session->engine().on_note = nullptr;
  if (!absent) return Exit::interrupted;
  Diagnostics diagnostics;
  Plan plan = make_plan(request, diagnostics);
  if (!diagnostics.empty()) {
    print_diagnostics(diagnostics);
    return Exit::usage;
  }
  if (packs) {
    if (auto packable = check_packable(plan); !packable) return packable.error();
  }
  if (replayed) keep_packed(plan, *replayed);
  if (plan.items.empty()) {
    remove_unused(*directory, options);
    if (absent->empty()) return nothing_selected(request);
    for (const AbsentPath& path : *absent)
      print_error({fmt::format("the path {} cannot be used here: {}", path.name, path.reason), ""});
    return Exit::internal;
  }
  if (!options.shuffle.empty()) {
    shuffle(plan, std::stoull(options.shuffle));
    if (!options.quiet)
      fmt::print(stderr, "in random order; --shuffle={} repeats it\n", options.shuffle);
  }

  std::map<std::string, double> seconds;
  if (!options.durations.empty()) {
    auto durations = read_log(options.durations);
    if (!durations) {
      print_error(durations.error());
      remove_unused(*directory, options);
      return Exit::usage;
    }
    for (const Verdict& verdict : durations->verdicts) seconds[verdict.id] = verdict.seconds;
  }

  RunInfo info;
  std::error_code unknown;
  info.version = LOCKSTEP_VERSION;
  info.started = now;
  info.arguments = options.arguments;
  info.directory = fs::current_path(unknown).string();
  info.level = selected->level;
  info.absent_paths = std::move(*absent);
  info.min_judged = options.min_judged;
  if (!info.min_judged && (options.strict || !selected->level.empty()))
    info.min_judged = kMinJudged;
  if (options.repeat_share < 100)
    info.repeated_part =
        RepeatedPart{options.repeat, options.repeat_share, std::stoull(options.repeat_seed)};
  RunSettings settings =
      session->run_settings(request, plan, std::move(info), selected->every_case && !replayed);
  if (replayed) {
    settings.launcher = options.launcher;
    settings.command = "replay " + shell_quote(options.pack.string());
    settings.repro_options.clear();
    settings.machine["pack made"] = replayed->made;
    const std::string difference = difference_of(*replayed, session->environment());
    if (!difference.empty()) console.note(difference);
  }
  settings.cluster = cluster_options(options, selected->filter, plan, *directory, seconds);
  if (!options.shard.empty()) {
    const Shard shard = *parse_shard(options.shard, {});
    settings.info.shard = ShardInfo{shard.number, shard.of, plan.digest, plan.items.size()};
    take_shard(plan, shard, options.durations.empty() ? nullptr : &seconds);
    settings.info.plan = plan.digest;
    settings.info.planned = plan.items.size();
  }
  settings.directory = *directory;
  settings.max_failures = options.max_fail;
  settings.strict = options.strict;
  settings.repeat = options.repeat;
  settings.retries = options.retries;
  settings.keep = options.keep;
  if (service) return serve(*service, plan, *session, std::move(settings));
  if (options.reuse) {
    if (auto reused = session->reuse_verdicts(options.cache / "verdicts", plan, settings);
        !reused) {
      print_error(reused.error());
      return Exit::internal;
    }
  }
  if (resumed) {
    if (auto can = can_resume(*resumed, settings.info, session->environment()); !can) {
      print_error(
          {fmt::format("cannot go on with {}: {}", directory->string(), can.error().message),
           can.error().hint});
      return Exit::usage;
    }
    settings.resumed = std::move(resumed);
  }

  auto record = session->run(plan, settings, console);
  if (!record) {
    print_error(record.error());
    return Exit::internal;
  }
  if (options.out.empty() && !settings.resumed) point_latest_at(*directory);
  if (packs && !record->end->interrupted) {
    if (auto packed = end_packing(options, *session, plan, *record); !packed) return packed.error();
  }
  if (options.explain_seconds > 0 && !record->end->interrupted) {
    const auto explained = explain_failing(*record, *directory, plan, *session, *knobs, options,
                                           [&](const std::string& text) { console.note(text); });
    if (!explained) {
      print_error(explained.error());
      return Exit::internal;
    }
  }
  const Exit exit = finish(*record, options, *directory, plan.paths);
  if (options.quiet) return exit;
  if (exit == Exit::ok && selected->level == "smoke")
    fmt::print(stderr, "this was the level `smoke`; `{} run --level all` runs every case\n",
               options.launcher);
  if (std::any_of(record->verdicts.begin(), record->verdicts.end(),
                  [&](const Verdict& verdict) { return verdict.fails(options.strict); }))
    fmt::print(stderr, "`{}` runs what fails again\n", again(options, settings, *directory));
  return exit;
}

}  // namespace lockstep
