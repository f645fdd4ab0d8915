// The flags of commands that read logs.
#include "commands/options.h"

namespace lockstep {
void add_flags(Flags& flags, FindingsOptions& options) { add_out_file(flags, options.out); }

void add_flags(Flags& flags, CoverageOptions& options) {
  flags.positional(
      "LOG", options.logs,
      "Directories of runs, or their run.jsonl, counted together (default: the latest)");
  flags.under(headings::kPrints);
  flags.flag("--missing", options.missing,
             "Name every overload that was not judged, not only those of core");
  flags.flag("--opinfo", options.opinfo,
             "Say also which names of torch's OpInfo database were judged; needs the package "
             "expecttest");
  flags.flag("--json", options.json,
             "JSON: for each overload paths, dtypes, layouts, arguments and instances, or why it "
             "was not judged");
  add_out_file(flags, options.out);
  add_libraries(flags, options.basis.files);
}

void add_flags(Flags& flags, ReportOptions& options) {
  flags.positional("LOG", options.logs,
                   "The directory of a run, or its run.jsonl (default: the latest)");
  flags.under(headings::kWrites);
  flags.value("--out", options.out, "The directory of the reports (default: beside the log)")
      ->type_name("DIR");
  add_report_files(flags, options.reporting);
  add_strict(flags, options.reporting);
  add_min_judged(flags, options.reporting, "that of the run");
  flags.under(headings::kPrints);
  flags.flag("-v,--verbose", options.reporting.verbose, "Print a line for every verdict");
  flags.flag("--fingerprints", options.fingerprints,
             "List the fingerprints of what does not conform, each with its smallest example");
  flags.flag("--ladder", options.ladder,
             "Say on which layer each instance that diverges begins to diverge");
  flags.flag("--operators", options.operators,
             "Say how much conforms of each operator and dtype; what fails most comes first");
  flags.flag("--tolerated", options.tolerated,
             "List what conforms though it differs from eager, worst first, with the policy that "
             "let it pass");
  flags.flag(
      "--relations", options.relations,
      "Print a Markdown table of the relations that were asked: what eager and each path keep "
      "of each operator");
  flags.flag("--github", options.reporting.github,
             "Print annotations for GitHub (default if GITHUB_ACTIONS is set)");
}

void add_flags(Flags& flags, MergeOptions& options) {
  flags
      .value("SHARD", options.shards,
             "The directories, or the logs, of all shards of one run, in any order")
      ->required();
  flags.under(headings::kWrites);
  flags
      .value("--out", options.out,
             "The directory of the log and the reports (default: a new one in .lockstep/runs)")
      ->type_name("DIR");
  add_report_files(flags, options.reporting);
  add_strict(flags, options.reporting);
  add_min_judged(flags, options.reporting, "that of the run");
  add_telling(flags, options.reporting);
}

/// The two sides of a gate, and what is run where one of them is a torch.
static void add_sides(Flags& flags, GateOptions& options) {
  flags
      .positional("OLD", options.old,
                  "The earlier run: its directory, log or name. Or a torch with which it is made: "
                  "a version (2.13, 2.16.0rc1, nightly), an interpreter, the folder of an "
                  "environment")
      ->required()
      ->expected(1);
  flags.positional("NEW", options.later, "The later run, likewise (default: the latest run)");
  add_selection(flags, options.basis);
  flags.app().get_option("SELECT")->description(
      "What is run, where a torch is named: ids and terms (see below), or case files and folders "
      "of your own (default: as the run beside it, else the level `core`)");
  add_ladder(flags, options.basis.choice.ladder);
  add_pace(flags, options.basis.pace);
  add_threads(flags, options.basis.pace);
  flags
      .value("--index-url", options.index,
             "The package index that has the torches (default: that of pip)")
      ->type_name("URL");
  flags
      .value("--explain", options.explain_seconds,
             "Explain what closes the gate, one verdict of each row, where the later run is made "
             "here: for so many seconds in all (0: do not)")
      ->capture_default_str()
      ->check(number_between(0, kMostSeconds))
      ->type_name("SECONDS");
}

void add_flags(Flags& flags, GateOptions& options) {
  add_sides(flags, options);
  flags.under(headings::kFails);
  flags
      .value("--fail-on", options.fail_on,
             "What closes the gate, with commas between them: `release`; `nightly`, the same but "
             "what an expectation accounts for (the default where the later torch is a nightly, "
             "else `release`); transitions, `new_crash`, of which `new_crash:unknown` are those "
             "that nothing accounts for; `none`")
      ->type_name("TRANSITION")
      ->allow_extra_args(false)
      ->delimiter(',');
  flags.files("--allow", options.allow,
              "Transitions to let pass, each with a reason: docs/release/gate.md (repeatable)");
  flags.flag("--strict", options.strict,
             "Refuse runs that are not alike: wheels of two kinds, other CPUs, other selections");
  flags.flag("--eager", options.eager,
             "Compare eager with eager, too, bit by bit, in a table of its own. Nothing fails by "
             "it");
  flags.under(headings::kWrites);
  flags
      .value("--out", options.out,
             "The directory of runs that are made, where later gates find them (default: one in "
             ".lockstep/gates for what is selected)")
      ->type_name("DIR");
  const auto report = [&](const char* flag, std::filesystem::path& file, const char* help) {
    flags.value(flag, file, help)->transform(output_file)->type_name("FILE");
  };
  report("--junit", options.junit,
         "Write JUnit XML, a test case for each change, to FILE (- is standard output)");
  report("--html", options.html, "Write the page to FILE; what changed comes first");
  report("--json", options.json, "Write JSON to FILE");
  report("--summary", options.summary,
         "Write Markdown for a comment to FILE, at most 60,000 bytes");
  flags.under(headings::kPrints);
  flags.flag("-v,--verbose", options.verbose, "Print a line for every change");
}

void add_flags(Flags& flags, HistoryOptions& options) {
  flags.positional("RUN", options.runs,
                   "Directories of runs, their logs, packed ones (.jsonl.gz), and folders of any "
                   "of these");
  flags.under(headings::kWrites);
  flags
      .value("--store", options.store,
             "Add the runs to this folder, one packed log for each, and show all that it has")
      ->type_name("DIR");
  flags
      .value("--keep-days", options.keep_days,
             "Remove from the store what is so many days older than its latest run. The first of "
             "each week stays, and every release")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  flags.value("--html", options.html, "Write the page to FILE")
      ->transform(output_file)
      ->type_name("FILE");
  flags.value("--json", options.json, "Write JSON to FILE (- is standard output)")
      ->transform(output_file)
      ->type_name("FILE");
  flags.under(headings::kPrints);
  flags.flag("-v,--verbose", options.verbose, "List what is fixed, too");
}

void add_flags(Flags& flags, BisectOptions& options) {
  flags
      .positional("FINGERPRINT", options.fingerprint,
                  "What came: a name that `report --fingerprints` prints, such as to:value")
      ->required()
      ->expected(1);
  flags.positional("GOOD", options.good, "A version of torch without it")->required()->expected(1);
  flags.positional("BAD", options.bad, "A version of torch that has it")->required()->expected(1);
  add_selection(flags, options.basis);
  flags.app().get_option("SELECT")->description(
      "What shows it: ids and terms (see below), or case files and folders of your own (default: "
      "the smallest verdict of an earlier run)");
  add_pace(flags, options.basis.pace);
  flags
      .value("--index-url", options.index,
             "The package index whose wheels are tried (default: that of pip)")
      ->type_name("URL");
}

}  // namespace lockstep
