#include "commands/running.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <iostream>

#include "base/text.h"
#include "commands/finish.h"
#include "reports/closing.h"
#include "reports/console.h"
#include "reports/terminal.h"
#include "requests/decode.h"
#include "requests/explaining.h"
#include "requests/packing.h"
#include "requests/reporting.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// Where an interactive console writes, and how.
ConsoleOptions console_options(const Reporting& reporting, const std::string& color) {
  const Terminal terminal = real_terminal();
  const ColorChoice choice = color_choice(color);
  ConsoleOptions console;
  console.color_out = use_color(terminal, terminal.out_is_terminal, choice);
  console.color_err = use_color(terminal, terminal.err_is_terminal, choice);
  console.live = use_live_line(terminal);
  console.columns = terminal.columns;
  if (terminal.out_is_terminal) console.wrap = terminal.columns;
  console.verbose = reporting.verbose;
  console.quiet = reporting.quiet;
  console.strict = reporting.strict;
  const auto start = std::chrono::steady_clock::now();
  console.clock = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  return console;
}

/// Where a report is the data on standard output, what people read goes to standard error.
std::ostream& stream_of(const Reporting& reporting) {
  return writes_to_stdout(reporting) ? std::cerr : std::cout;
}

/// Completes a pack, and prints where it is.
Answer<void> pack(const Prepared& prepared, const RunRecord& record) {
  const auto made =
      end_packing(*prepared.pack, prepared.words, *prepared.session, prepared.plan, record);
  if (!made) return tl::unexpected(made.error());
  if (prepared.request.reporting.quiet) return {};
  fmt::print(stderr, "packed {} into {}", counted(made->items.size(), "verdict"),
             prepared.pack->string());
  if (!made->left_out.empty())
    fmt::print(stderr, "; left out {}, which {} says why", made->left_out.size(), kManifest);
  fmt::print(stderr, "\n`{} replay {}` judges them again, without Python\n",
             prepared.request.basis.at.launcher, shell_quote(prepared.pack->string()));
  return {};
}

/// The command that runs again what fails in this run.
std::string again(const Prepared& prepared) {
  const RunSettings& settings = prepared.settings;
  return fmt::format("{} {} status:failing --from {}{}{}", settings.launcher, settings.command,
                     shell_quote(fs::absolute(settings.directory).string()),
                     prepared.request.reporting.strict ? " --strict" : "", settings.repro_options);
}

/// What somebody may want to do next.
void advise(const Prepared& prepared, const ConsoleRun& done) {
  const Reporting& reporting = prepared.request.reporting;
  if (reporting.quiet) return;
  if (done.exit == Exit::ok && prepared.selection.level == "smoke")
    fmt::print(stderr, "this was the level `smoke`; `{} run --level all` runs every case\n",
               prepared.request.basis.at.launcher);
  const auto& verdicts = done.record.verdicts;
  if (std::any_of(verdicts.begin(), verdicts.end(),
                  [&](const Verdict& verdict) { return verdict.fails(reporting.strict); }))
    fmt::print(stderr, "`{}` runs what fails again\n", again(prepared));
}

}  // namespace

Means console_means(const Reporting& reporting, const Surroundings& at) {
  const ConsoleOptions look = console_options(reporting, at.color);
  std::ostream& out = stream_of(reporting);
  return {[look, &out](const std::string& text) { Console(out, std::cerr, look).note(text); }, {}};
}

Answer<ConsoleRun> run_on_console(Prepared& prepared) {
  const RunRequest& request = prepared.request;
  const Reporting& reporting = request.reporting;
  std::optional<KnobTable> knobs;
  if (request.explain_seconds > 0) {
    auto table = read_knobs(request.basis.at);
    if (!table) return tl::unexpected(table.error());
    knobs = std::move(*table);
  }
  if (!request.shuffle.empty() && !reporting.quiet)
    fmt::print(stderr, "in random order; --shuffle={} repeats it\n", request.shuffle);
  ConsoleOptions look = console_options(reporting, request.basis.at.color);
  look.explain_known = prepared.asks_of_few;
  Console console(stream_of(reporting), std::cerr, look);
  auto record = execute(prepared, console);
  if (!record) return tl::unexpected(record.error());
  ConsoleRun done{std::move(*record)};
  if (prepared.pack && !done.record.end->interrupted) {
    if (auto packed = pack(prepared, done.record); !packed) return tl::unexpected(packed.error());
  }
  if (knobs && !done.record.end->interrupted) {
    auto explained = explain_failing(done.record, prepared, *knobs,
                                     [&](const std::string& text) { console.note(text); });
    if (!explained) return tl::unexpected(explained.error());
  }
  done.exit = finish({done.record, reporting, request.basis.at, prepared.settings.directory,
                      prepared.plan.paths, request.basis.choice.paths});
  advise(prepared, done);
  return done;
}

Answer<RunRecord> carry_out_on_console(const RunRequest& request,
                                       std::unique_ptr<Session> session) {
  watch_for_interrupts();
  auto prepared =
      prepare(request, console_means(request.reporting, request.basis.at), std::move(session));
  if (!prepared) return tl::unexpected(prepared.error());
  auto done = run_on_console(*prepared);
  if (!done) return tl::unexpected(done.error());
  return std::move(done->record);
}

}  // namespace lockstep
