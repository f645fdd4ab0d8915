// The flags of what reads the logs of runs.
#include "commands/options.h"

namespace lockstep {
void add_flags(Flags& flags, FindingsOptions& options) { add_out_file(flags, options.out); }

void add_flags(Flags& flags, CoverageOptions& options) {
  flags.positional("LOG", options.logs,
                   "Logs run.jsonl, or directories of runs (default: the latest); what several "
                   "say is counted together");
  flags.flag("--missing", options.missing,
             "Name every overload that was not judged, not only those of core");
  flags.flag("--opinfo", options.opinfo,
             "Say also which names of torch's own OpInfo database were judged; needs the "
             "package expecttest beside torch");
  flags.flag("--json", options.json,
             "As JSON: of each overload paths, dtypes, layouts, arguments and instances, or "
             "why it was not judged");
  add_out_file(flags, options.out);
  add_libraries(flags, options.basis.files);
}

void add_flags(Flags& flags, ReportOptions& options) {
  flags.positional("LOG", options.logs,
                   "The log run.jsonl, or the directory of a run (default: the latest)");
  flags.value("--out", options.out, "Directory for the reports (default: beside the log)")
      ->type_name("DIR");
  add_report_files(flags, options.reporting);
  add_strict(flags, options.reporting);
  add_min_judged(flags, options.reporting, "that of the run");
  flags.flag("-v,--verbose", options.reporting.verbose, "A line for every verdict");
  flags.flag("--fingerprints", options.fingerprints,
             "List the fingerprints of all that does not conform, those of most failing verdicts "
             "first, each with its smallest example");
  flags.flag("--ladder", options.ladder,
             "Say of every instance that diverges from eager on which layer it begins to");
  flags.flag("--operators", options.operators,
             "Say of each operator and dtype how much of what was judged conforms, those that "
             "fail most first");
  flags.flag("--tolerated", options.tolerated,
             "List what conforms though it differs from eager, worst first, with the number, "
             "the place and the policy that let it pass");
  flags.flag("--github", options.reporting.github,
             "Print annotations for GitHub (default where GITHUB_ACTIONS is set)");
}

void add_flags(Flags& flags, MergeOptions& options) {
  flags
      .value("SHARD", options.shards,
             "The directories, or the logs, of all shards of one run, in any order")
      ->required();
  flags
      .value("--out", options.out,
             "Directory for the log and the reports (default: a new one in .lockstep/runs)")
      ->type_name("DIR");
  add_report_files(flags, options.reporting);
  add_strict(flags, options.reporting);
  add_min_judged(flags, options.reporting, "that of the run");
  add_telling(flags, options.reporting);
}

void add_flags(Flags& flags, GateOptions& options) {
  flags
      .value("LOG", options.logs,
             "The log, or the directory, of the later run (default: the latest)")
      ->expected(0, 1);
  flags
      .value("--baseline", options.baseline,
             "The log, or the directory, of the run to compare with")
      ->required()
      ->type_name("LOG");
  flags
      .value("--fail-on", options.fail_on,
             "Transitions that fail, with commas between them, instead of those that fail by "
             "default; none: nothing fails")
      ->type_name("TRANSITION")
      ->allow_extra_args(false)
      ->delimiter(',');
  flags.files("--allow", options.allow,
              "Transitions to let pass, each with a reason (docs/release/gate.md; repeatable)");
  flags.flag("--eager", options.eager,
             "Compare eager with eager, too, bit by bit, in a table of its own; nothing fails "
             "by it");
  flags
      .value("--junit", options.junit,
             "Write a test case for each change to FILE (- is standard output)")
      ->transform(output_file)
      ->type_name("FILE");
  flags.value("--html", options.html, "Write the page, what changed first, to FILE")
      ->transform(output_file)
      ->type_name("FILE");
  flags.value("--json", options.json, "Write all of it as JSON to FILE")
      ->transform(output_file)
      ->type_name("FILE");
  flags
      .value("--summary", options.summary,
             "Write Markdown for a comment to FILE; at most 60,000 bytes")
      ->transform(output_file)
      ->type_name("FILE");
  flags.flag("-v,--verbose", options.verbose, "A line for every change");
}

}  // namespace lockstep
