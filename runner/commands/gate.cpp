#include "reports/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <iostream>
#include <tuple>

#include "base/files.h"
#include "base/reader.h"
#include "base/text.h"
#include "commands/artefacts.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/explain_closing.h"
#include "commands/gate_sides.h"
#include "record/alike.h"
#include "record/history.h"
#include "record/log.h"
#include "reports/gate_page.h"
#include "requests/decode.h"
#include "requests/reporting.h"
#include "run/interrupts.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The run of a log, if the log is complete.
std::optional<RunRecord> whole_run(const fs::path& log) {
  auto record = read_log(log);
  if (!record) {
    print_error(record.error());
    return std::nullopt;
  }
  if (const std::string why = unfit_to_compare(*record); !why.empty()) {
    print_error({fmt::format("cannot compare {}: {}", log.string(), why),
                 "`run --resume DIR` goes on with a run that ended early"});
    return std::nullopt;
  }
  return std::move(*record);
}

constexpr std::string_view kUnknown = ":unknown";
/// Names of --fail-on that mean what closes a gate by default.
constexpr std::string_view kRelease = "release", kNightly = "nightly";

/// What --fail-on says closes the gate; where it says nothing, what is meant for the later torch.
std::optional<ClosedBy> closed_by(const GateOptions& options, std::string_view torch = {}) {
  if (options.fail_on.empty())
    return closed_by_default(is_nightly(torch) ? Closes::unknown : Closes::any);
  ClosedBy closed_by;
  std::vector<std::string> names = {"none", std::string(kRelease), std::string(kNightly)};
  for (const TransitionInfo& each : all_transitions()) names.emplace_back(each.name);
  bool good = true;
  for (const std::string& word : options.fail_on) {
    if (word == "none") continue;
    if (word == kRelease || word == kNightly) {
      closed_by.merge(closed_by_default(word == kRelease ? Closes::any : Closes::unknown));
      continue;
    }
    const bool unknown = word.ends_with(kUnknown);
    const std::string name = word.substr(0, word.size() - (unknown ? kUnknown.size() : 0));
    if (const TransitionInfo* found = find_transition(name)) {
      closed_by[found->transition] = unknown ? Closes::unknown : Closes::any;
      continue;
    }
    print_error({fmt::format("found --fail-on {}, expected one of {}, or a transition with {} "
                             "behind it: only what no expectation accounts for",
                             one_line(word), enumerate(names), kUnknown),
                 suggestion(name, names)});
    good = false;
  }
  return good ? std::optional(closed_by) : std::nullopt;
}

/// Whether the runs were asked for other instances.  What words nobody can read asked for, nobody
/// can tell.
bool other_selection(const RunInfo& before, const RunInfo& after, const Surroundings& at) {
  if (before.level != after.level) return true;
  const auto was = decode_run(before.arguments, at), is = decode_run(after.arguments, at);
  if (!was || !is) return false;
  const auto selection = [](const RunRequest& request) {
    const Choice& choice = request.basis.choice;
    return std::tuple(choice.select, choice.after_paths, choice.after_devices, choice.paths);
  };
  return selection(*was) != selection(*is);
}

std::optional<std::vector<Allowance>> allowances_of(const GateOptions& options) {
  std::vector<Allowance> all;
  Diagnostics diagnostics;
  for (const fs::path& name : options.allow) {
    const auto file = read_json(name, name.string(), diagnostics);
    if (!file) continue;
    for (Allowance& each : decode_allowances(*file, diagnostics)) all.push_back(std::move(each));
  }
  if (diagnostics.empty()) return all;
  print_diagnostics(diagnostics);
  return std::nullopt;
}

Reporting reporting_of(const GateOptions& options) {
  Reporting reporting;
  reporting.files = {{"--html", options.html},
                     {"--json", options.json},
                     {"--junit", options.junit},
                     {"--summary", options.summary}};
  return reporting;
}

/// Names the files of runs that were made where nobody else has named one.
void name_reports(GateOptions& options, const GateSides& sides) {
  const bool named = !options.html.empty() || !options.json.empty() || !options.junit.empty() ||
                     !options.summary.empty();
  if (sides.folder.empty() || named) return;
  const auto name = [](const GateSide& side) {
    return fs::weakly_canonical(side.log).filename().string();
  };
  const std::string file = (sides.folder / (name(sides.old) + ".." + name(sides.later))).string();
  options.html = file + ".html";
  options.json = file + ".json";
  options.junit = file + ".xml";
  options.summary = file + ".md";
  print_people(stderr, fmt::format("lockstep: the page, JUnit, JSON and Markdown: "
                                   "{}.{{html,xml,json,md}}\n",
                                   file));
}

constexpr std::size_t kLongestPage = 15'000'000;

/// Where the page will be, from which it names files.
GatePlaces places_of(const GateOptions& options) {
  const bool has_place = !options.html.empty() && options.html != "-";
  return {has_place ? fs::absolute(options.html).parent_path() : fs::path(),
          fs::absolute(options.basis.at.suite)};
}

Exit compare(const GateOptions& options, const GateSides& sides, ReadingMemory& memory) {
  const Reporting reporting = reporting_of(options);
  const auto before = whole_run(sides.old.log);
  auto after = whole_run(sides.later.log);
  const auto closing =
      closed_by(options, after ? said_by(after->environment, "eager", "torch") : std::string());
  const auto allowances = allowances_of(options);
  if (!before || !after || !closing || !allowances) return Exit::usage;
  Gate gate = make_gate(*before, *after, *closing, *allowances,
                        other_selection(before->info, after->info, options.basis.at));
  if (options.strict && !gate.unlike.empty()) {
    print_error(
        {fmt::format("the runs are not compared like with like: {}", fmt::join(gate.unlike, "; ")),
         "make both runs alike, or leave --strict out"});
    return Exit::usage;
  }
  if (!gate.is_open() && sides.later.torch && options.explain_seconds > 0) {
    memory.lift();  // what is executed was believed, and takes more
    explain_closing(gate, *after, sides, options);
    if (interrupted()) return Exit::interrupted;
  }
  if (options.eager) gate.eager = compare_eager(*before, *after);
  const auto [out, style] = people_output(reporting, options.basis.at.color);
  out << gate_text(gate, style, options.verbose) << std::flush;
  for (const auto& written :
       {write_report(options.html,
                     [&] { return gate_page(gate, kLongestPage, places_of(options)); }),
        write_report(options.junit, [&] { return gate_junit(gate); }),
        write_report(options.json, [&] { return gate_json(gate).dump(1) + "\n"; }),
        write_report(options.summary, [&] { return gate_markdown(gate); })}) {
    if (written) continue;
    print_error(written.error());
    return Exit::internal;
  }
  return gate.is_open() ? Exit::ok : Exit::failures;
}

}  // namespace

Exit command_gate(const GateOptions& options) {
  const Exit fits = while_reading([&](ReadingMemory&) {
    if (auto checked = check(reporting_of(options)); !checked) return tell(checked.error());
    return closed_by(options) && allowances_of(options) ? Exit::ok : Exit::usage;
  });
  if (fits != Exit::ok) return fits;
  const auto sides = gate_sides(options);
  if (!sides) return tell(sides.error());
  GateOptions asked = options;
  name_reports(asked, *sides);
  return while_reading([&](ReadingMemory& memory) { return compare(asked, *sides, memory); });
}

}  // namespace lockstep
