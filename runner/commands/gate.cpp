#include "reports/gate.h"

#include <fmt/format.h>

#include <functional>
#include <iostream>

#include "base/files.h"
#include "base/reader.h"
#include "base/text.h"
#include "commands/artefacts.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "record/log.h"
#include "reports/gate_page.h"
#include "requests/reporting.h"

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

/// The transitions of --fail-on, or the default ones.
std::optional<std::set<Transition>> failing_transitions(const GateOptions& options) {
  if (options.fail_on.empty()) return closing_by_default();
  std::set<Transition> transitions;
  std::vector<std::string> names;
  for (const TransitionInfo& each : all_transitions()) names.emplace_back(each.name);
  bool good = true;
  for (const std::string& name : options.fail_on) {
    if (name == "none") continue;
    if (const TransitionInfo* found = find_transition(name)) {
      transitions.insert(found->transition);
      continue;
    }
    print_error({fmt::format("found --fail-on {}, expected none or transitions: {}", one_line(name),
                             enumerate(names)),
                 suggestion(name, names)});
    good = false;
  }
  return good ? std::optional(transitions) : std::nullopt;
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

/// Writes what `make` makes to a file, or to standard output where that is "-".
Result<void> write_report(const fs::path& file, const std::function<std::string()>& make) {
  if (file.empty()) return {};
  if (file == "-") {
    std::cout << make();
    return {};
  }
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  return write_file(file, make());
}

Exit carry_out(const GateOptions& options) {
  Reporting reporting;
  reporting.files = {{"--html", options.html},
                     {"--json", options.json},
                     {"--junit", options.junit},
                     {"--summary", options.summary}};
  if (auto fits = check(reporting); !fits) return tell(fits.error());
  const fs::path latest = options.basis.at.runs / "latest";
  const auto before = whole_run(options.baseline);
  const auto after = whole_run(options.logs.empty() ? latest : fs::path(options.logs.front()));
  const auto fail_on = failing_transitions(options);
  const auto allowances = allowances_of(options);
  if (!before || !after || !fail_on || !allowances) return Exit::usage;
  Gate gate = make_gate(*before, *after, *fail_on, *allowances);
  if (options.eager) gate.eager = compare_eager(*before, *after);
  const auto [out, style] = people_output(reporting, options.basis.at.color);
  out << gate_text(gate, style, options.verbose) << std::flush;
  for (const auto& written :
       {write_report(options.html, [&] { return gate_page(gate); }),
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
  return while_reading([&](ReadingMemory&) { return carry_out(options); });
}

}  // namespace lockstep
