// The flags of what reads the logs of runs, and of certificates.
#include "commands/command_line.h"
#include "commands/flags.h"

namespace lockstep {
namespace {

/// What a vendor shows of a certificate.
void add_showing(CLI::App* command, Options& options) {
  command
      ->add_option("--page", options.page_file,
                   "Write a page for the vendor's site that says what the archive says to FILE")
      ->type_name("FILE");
  command->add_option("--badge", options.badge_file, "Write a badge, an SVG, to FILE")
      ->type_name("FILE");
}

}  // namespace

void add_findings(CLI::App& app, Options& options) {
  CLI::App* findings = app.add_subcommand(
      "findings",
      "Write what is known of compilers but reported nowhere, as text ready to be filed");
  add_out_file(findings, options);
}

void add_coverage(CLI::App& app, Options& options) {
  CLI::App* coverage = app.add_subcommand(
      "coverage",
      "Say which overloads of the torch at hand a run executed and judged, and why not the others");
  coverage->add_option("LOG", options.select,
                       "Logs run.jsonl, or directories of runs (default: the latest); what several "
                       "say is counted together");
  coverage->add_flag("--missing", options.missing,
                     "Name every overload that was not judged, not only those of core");
  coverage->add_flag("--opinfo", options.opinfo,
                     "Say also which names of torch's own OpInfo database were judged; needs the "
                     "package expecttest beside torch");
  coverage->add_flag(
      "--json", options.json,
      "As JSON: of each overload paths, dtypes, layouts, arguments and instances, or "
      "why it was not judged");
  add_out_file(coverage, options);
  add_libraries(coverage, options);
}

void add_report(CLI::App& app, Options& options) {
  CLI::App* report = app.add_subcommand("report", "Write the reports of a run again from its log");
  report->add_option("LOG", options.select,
                     "The log run.jsonl, or the directory of a run (default: the latest)");
  report->add_option("--out", options.out, "Directory for the reports (default: beside the log)")
      ->type_name("DIR");
  add_report_files(report, options);
  add_strict(report, options);
  add_min_judged(report, options, "that of the run");
  report->add_flag("-v,--verbose", options.verbose, "A line for every verdict");
  report->add_flag("--causes", options.causes,
                   "List the causes of all that does not conform, those of most failing verdicts "
                   "first, each with its smallest example");
  report->add_flag("--ladder", options.ladder,
                   "Say of every instance that departs from eager on which rung it begins to");
  report->add_flag(
      "--operators", options.operators,
      "Say of each operator and dtype how much of what was judged conforms, those that "
      "fail most first");
  report->add_flag("--tolerated", options.tolerated,
                   "List what conforms though it differs from eager, worst first, with the number, "
                   "the place and the policy that let it pass");
  report->add_flag("--github", options.github,
                   "Print annotations for GitHub (default where GITHUB_ACTIONS is set)");
}

void add_merge(CLI::App& app, Options& options) {
  CLI::App* merge = app.add_subcommand(
      "merge", "Put the shards of a run together, and write its log and reports");
  merge
      ->add_option("SHARD", options.select,
                   "The directories, or the logs, of all shards of one run, in any order")
      ->required();
  merge
      ->add_option("--out", options.out,
                   "Directory for the log and the reports (default: a new one in .lockstep/runs)")
      ->type_name("DIR");
  add_report_files(merge, options);
  add_strict(merge, options);
  add_min_judged(merge, options, "that of the run");
  add_telling(merge, options);
}

void add_gate(CLI::App& app, Options& options) {
  CLI::App* gate = app.add_subcommand(
      "gate", "Say what became of each verdict from one run to another, and whether that may be");
  gate->add_option("LOG", options.select,
                   "The log, or the directory, of the later run (default: the latest)")
      ->expected(0, 1);
  gate->add_option("--baseline", options.baseline,
                   "The log, or the directory, of the run to compare with")
      ->required()
      ->type_name("LOG");
  gate->add_option("--fail-on", options.fail_on,
                   "Transitions that fail, with commas between them, instead of those that fail by "
                   "default; none: nothing fails")
      ->type_name("TRANSITION")
      ->allow_extra_args(false)
      ->delimiter(',');
  add_files(gate, "--allow", options.allow_files,
            "Transitions that somebody has looked at and lets pass (README.md; repeatable)");
  gate->add_flag("--eager", options.compare_eager,
                 "Compare eager with eager, too, bit by bit, in a table of its own; nothing fails "
                 "by it");
  gate->add_option("--junit", options.junit_file,
                   "Write a test case for each change to FILE (- is standard output)")
      ->type_name("FILE");
  gate->add_option("--html", options.html_file, "Write the page, what changed first, to FILE")
      ->type_name("FILE");
  gate->add_option("--json", options.json_file, "Write all of it as JSON to FILE")
      ->type_name("FILE");
  gate->add_option("--summary", options.summary_file,
                   "Write Markdown for a comment to FILE; at most 60,000 bytes")
      ->type_name("FILE");
  gate->add_flag("-v,--verbose", options.verbose, "A line for every change");
}

void add_certify(CLI::App& app, Options& options) {
  CLI::App* certify = app.add_subcommand(
      "certify",
      "Run a frozen level on a path, and write the archive that proves that it conforms");
  certify->add_option("--level", options.level, "The level, a frozen one")
      ->required()
      ->type_name("LEVEL");
  certify->add_option("--path", options.paths, "The path")
      ->required()
      ->expected(1)
      ->type_name("PATH");
  certify->add_option("--device", options.devices, "The device (default: cpu)")
      ->expected(1)
      ->type_name("DEVICE");
  add_path_files(certify, options);
  add_files(certify, "--waivers", options.waiver_files,
            "Expectations that were agreed with the suite's owners, each with reason and link, "
            "bound to a device and its driver (repeatable)");
  certify
      ->add_option("--out", options.out,
                   "The archive to write (default: PATH-LEVEL.tar in this directory)")
      ->type_name("ARCHIVE");
  certify
      ->add_option("--run", options.run_folder,
                   "The run's directory; what is there is gone on with, or taken if it is whole "
                   "(default: a new one in .lockstep/certificates)")
      ->type_name("DIR");
  certify
      ->add_option("--seed", options.seed,
                   "Draws what is executed several times (default: by chance)")
      ->type_name("SEED");
  add_showing(certify, options);
  add_libraries(certify, options);
  add_pace(certify, options);
}

void add_verify(CLI::App& app, Options& options) {
  CLI::App* verify = app.add_subcommand(
      "verify", "Check an archive of `certify`: digests, completeness, statuses, what it states");
  verify->add_option("ARCHIVE", options.select, "The archive")->required()->expected(1);
  add_percent(verify, "--sample", options.sample,
              "Execute this part of its verdicts here, drawn by chance, and compare: 5%");
  verify->add_option("--seed", options.seed, "Draws the sample (default: by chance)")
      ->type_name("SEED");
  add_showing(verify, options);
  add_path_files(verify, options);
  add_libraries(verify, options);
  add_pace(verify, options);
}

}  // namespace lockstep
