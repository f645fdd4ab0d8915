#include "commands/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "commands/report_formats.h"
#include "plan/filter.h"

namespace lockstep {
namespace {

constexpr const char* kAbout =
    "Lockstep asks of a PyTorch compiler: does the compiled program still compute what eager "
    "computes?\n";

constexpr const char* kStatuses =
    "\nExit status: 0 as expected, 1 verdicts fail, 2 wrong usage or an invalid file, 3 internal "
    "or no usable\n"
    "worker, 4 nothing selected (each term means something, but not together), 130 interrupted.\n";

constexpr const char* kEnvironment =
    "Environment (flags come first):\n"
    "  LOCKSTEP_HOME     Lockstep's own folder, which holds cases/, expected/ and runner/\n"
    "  LOCKSTEP_CACHE    where environments, builds, compiled kernels and runs live\n"
    "  LOCKSTEP_TORCH    a torch release that ci/lockstep is to provide\n"
    "  LOCKSTEP_PYTHON   an interpreter that has a torch\n"
    "  LOCKSTEP_EAGER    another executable of the eager worker\n"
    "  LOCKSTEP_CUDART   another CUDA runtime (libcudart.so) that tells of devices\n"
    "  LOCKSTEP_DASK     an interpreter that has Dask, for run --on\n"
    "  LOCKSTEP_DIGESTS  KIND=FILE, what digests tensors on devices of a kind\n"
    "  CXX               the compiler that Inductor uses\n"
    "  NO_COLOR          no colours; CLICOLOR_FORCE: colours everywhere\n";

const std::vector<std::string> kColors = {"auto", "always", "never"};
const std::vector<std::string> kShells = {"bash", "zsh", "fish"};

constexpr double kMostSeconds = 1e6;  // eleven days
constexpr double kMostGib = 1 << 20;  // what no machine has; in bytes an integer holds it

/// A number of these bounds, which are shown as given here; CLI::Range lets NaN pass.
CLI::Validator number_between(double low, double high) {
  const std::string bounds = fmt::format("{} to {}", low, high);
  return {[=](const std::string& text) {
            double value = 0;
            const bool fits =
                CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
            return fits ? std::string()
                        : fmt::format("found {}, expected a number from {}", text, bounds);
          },
          bounds};
}

/// A share in percent, with its sign or without: 5% or 5.
template <class Number>
CLI::Option* add_percent(CLI::App* command, const char* flag, Number& share,
                         const std::string& help) {
  return command->add_option(flag, share, help)
      ->transform([](std::string text) {
        if (text.ends_with('%')) text.pop_back();
        return text;
      })
      ->check(number_between(0, 100))
      ->type_name("PERCENT");
}

/// An option that names files besides those of the suite, repeatable.
void add_files(CLI::App* command, const char* flag, std::vector<std::filesystem::path>& files,
               const char* help, const char* type = "FILE") {
  command->add_option(flag, files, help)->type_name(type)->allow_extra_args(false);
}

/// Wherever operators are resolved or executed.
void add_libraries(CLI::App* command, Options& options) {
  add_files(command, "--library", options.libraries,
            "Load a shared object that adds operators or kernels to torch (repeatable)");
}

void add_path_files(CLI::App* command, Options& options) {
  add_files(command, "--path-file", options.path_files,
            "A path file of your own (runner/paths/README.md; repeatable)");
}

void add_selection(CLI::App* command, Options& options) {
  command->add_option("SELECT", options.select,
                      "What to take (see below), or case files and folders of your own: "
                      "./mine.json, DIR/; without it the level `smoke`");
  command
      ->add_option("--level", options.level,
                   "Of the cases of expected/levels/LEVEL.json (`all`: of every case)")
      ->type_name("LEVEL");
  command
      ->add_option("--path", options.paths,
                   "Take these paths instead of the default ones; globs allowed")
      ->type_name("PATH")
      ->allow_extra_args(false)  // else it would swallow SELECT; see take_following
      ->delimiter(',');
  command->add_option("--device", options.devices, "Take these devices; globs allowed")
      ->type_name("DEVICE")
      ->allow_extra_args(false)
      ->delimiter(',');
  add_files(
      command, "--case-file", options.case_files,
      "Case files of your own, or folders of them, beside the suite's (repeatable); as SELECT "
      "such a name also selects them",
      "FILE|DIR");
  add_path_files(command, options);
  command
      ->add_option("--from", options.from,
                   "The log that terms about verdicts read (default: that of the latest run)")
      ->type_name("LOG");
  add_libraries(command, options);
}

void add_ladder(CLI::App* command, Options& options) {
  command->add_flag("--ladder", options.ladder,
                    "Go down the ladder: take every path that has a rung, or the rungs below those "
                    "of --path; the first one that departs is where a divergence begins");
}

void add_report_files(CLI::App* command, Options& options) {
  for (const ReportFormat& report : report_formats())
    command->add_option(report.flag, options.*report.file, report.help)->type_name("FILE");
}

void add_min_judged(CLI::App* command, Options& options, const char* fallback) {
  add_percent(command, "--min-judged", options.min_judged,
              fmt::format("Fail where less than PERCENT of what could be judged is; what the "
                          "case, the torch or eager lacks, or the path declares, does not "
                          "count (default: {})",
                          fallback));
}

/// How much of its verdicts a run tells, and to whom.
void add_telling(CLI::App* command, Options& options) {
  CLI::Option* verbose =
      command->add_flag("-v,--verbose", options.verbose, "A line for every verdict");
  command->add_flag("-q,--quiet", options.quiet, "Say only what fails, and the totals in one line")
      ->excludes(verbose);
  command->add_flag("--github", options.github,
                    "Print annotations for GitHub, and append the summary to the file that "
                    "GITHUB_STEP_SUMMARY names (default where GITHUB_ACTIONS is set)");
}

/// How fast, and how long at most, instances are executed.
void add_pace(CLI::App* command, Options& options) {
  command
      ->add_option("-j,--jobs", options.jobs, "Executions at a time (default: three for two cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->add_option("--timeout", options.timeout, "Seconds that a stage of an execution may take")
      ->capture_default_str()
      ->check(number_between(0.001, kMostSeconds))
      ->type_name("S");
  command
      ->add_option("--compile-timeout", options.compile_timeout,
                   "Seconds that tracing, lowering or compiling may take")
      ->capture_default_str()
      ->check(number_between(0.001, kMostSeconds))
      ->type_name("S");
  command
      ->add_option("--memory", options.memory_gib,
                   "GiB of address space of one execution (default: what the machine has)")
      ->check(number_between(0.001, kMostGib))
      ->type_name("GIB");
}

/// How instances are executed, and where the run is written.
void add_execution(CLI::App* command, Options& options) {
  add_pace(command, options);
  command
      ->add_option("--out", options.out,
                   "Directory for the log and the reports (default: a new one in .lockstep/runs)")
      ->type_name("DIR");
}

void add_run(CLI::App& app, Options& options) {
  CLI::App* run = app.add_subcommand("run", "Execute cases, judge them and write the reports");
  add_selection(run, options);
  add_ladder(run, options);
  run->add_option("--threads", options.threads, "Threads of each execution")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  add_execution(run, options);
  run->add_option("--resume", options.resume,
                  "Go on with the run in DIR, which ended early, with the arguments that it had")
      ->type_name("DIR");
  run->add_option(
         "--on", options.on,
         "Execute on a Dask cluster (runner/run/CLUSTER.md): dask://HOST:PORT, dask+tls://"
         "HOST:PORT or dask:FILE, of its scheduler; dask: one on this machine; local: none")
      ->type_name("CLUSTER");
  run->add_option(
         "--shard", options.shard,
         "Run one part of so many, which machines that know nothing of each other choose alike: "
         "2/5, "
         "or auto, which asks the variables of GitLab, Buildkite, CircleCI, SLURM or Kubernetes; "
         "`merge` puts them together")
      ->type_name("NUMBER/OF");
  run->add_option(
         "--durations", options.durations,
         "Balance the shards, or the machines of --on, by what verdicts took in LOG; the same "
         "for all shards")
      ->type_name("LOG");
  CLI::Option* keep =
      run->add_flag("--keep", options.keep,
                    "Keep the tensors of every output that does not conform, as .npy files in "
                    "tensors/ of the run's directory");
  run->add_flag("--strict", options.strict, "Also fail on `fixed`, `inconclusive` and `refused`");
  add_min_judged(run, options, "90 with --strict and for levels");
  add_files(run, "--known", options.known_files,
            "Expectations of your own beside the suite's (expected/README.md; repeatable)");
  run->add_flag("--no-expectations", options.no_expectations, "Judge as if nothing were known");
  run->add_option("--max-fail", options.max_fail, "Stop after N failing verdicts")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  run->add_flag_callback(
      "--fail-fast", [&options] { options.max_fail = 1; }, "Stop after the first failing verdict");
  CLI::Option* repeat = run->add_option(
      "--repeat", options.repeat,
      "Execute everything N times; the worst verdict counts, and one that changes is "
      "`unstable`");
  repeat->check(CLI::Range(1, 10000))->type_name("N");
  add_percent(run, "--repeat-share", options.repeat_share,
              "With --repeat: only this part of the verdicts, drawn by chance (10%); the others "
              "once")
      ->needs(repeat);
  run->add_option("--repeat-seed", options.repeat_seed,
                  "Draw the same part again as a run whose log names this seed")
      ->type_name("SEED")
      ->needs(repeat);
  run->add_flag("--ignore-declared", options.ignore_declared,
                "Execute also what the path files declare as `unsupported`: what conforms is "
                "declared needlessly");
  run->add_option(
         "--retries", options.retries,
         "Execute what would fail the run at most N times more, until it does not; it still "
         "fails, is `unstable`, and says how often, unless it is known as a flake "
         "(expected/README.md)")
      ->check(CLI::Range(0, 1000))
      ->type_name("N")
      ->excludes(repeat);
  run->add_flag("--explain{600}", options.explain_seconds,
                "Say at the end who did what fails, as `explain` does: one verdict of each cause "
                "first, two minutes each at most; begin nothing new after 600 seconds, or as many "
                "as --explain=SECONDS says")
      ->check(CLI::Range(1.0, 1e6))
      ->type_name("SECONDS");
  run->add_flag("--reuse", options.reuse,
                "Take the verdicts that an earlier --reuse made of the same cases, paths, torch, "
                "workers, judge and machine, marked as such, and execute the others")
      ->excludes(repeat)
      ->excludes(keep);
  run->add_flag("--shuffle{random}", options.shuffle,
                "Take the instances in random order; --shuffle=SEED repeats one");
  run->add_flag(
      "--update-known{default}", options.update_known,
      "Propose expectations for new divergences in expected/known/proposed.json "
      "(--update-known=FILE: there; - is standard output); the reasons are yours to write");
  run->add_flag("--accept-crashes", options.accept_crashes,
                "With --update-known: also for crashes, time-outs and want of memory");
  add_report_files(run, options);
  run->add_flag("--alone", options.alone,
                "Compile every instance by itself, also those that may share a graph");
  run->add_flag("--no-cache", options.no_cache, "Keep no compilation cache between runs");
  add_telling(run, options);
  run->footer(selection_help());
}

void add_pack(CLI::App& app, Options& options) {
  CLI::App* pack = app.add_subcommand(
      "pack", "Run cases on a path that makes packages, and write these for `replay`");
  pack->add_option("DIR", options.pack, "Where to write them: a folder that is empty or not there")
      ->required()
      ->expected(1);
  add_selection(pack, options);
  add_execution(pack, options);
  add_files(pack, "--known", options.known_files,
            "Expectations of your own beside the suite's (expected/README.md; repeatable)");
  pack->add_flag("--no-expectations", options.no_expectations,
                 "Pack none, as if nothing were known");
  pack->add_flag("--no-cache", options.no_cache, "Keep no compilation cache between runs");
  add_report_files(pack, options);
  add_telling(pack, options);
  pack->footer(selection_help());
}

void add_replay(CLI::App& app, Options& options) {
  CLI::App* replay = app.add_subcommand(
      "replay", "Execute and judge the packages that `pack` wrote, without Python");
  replay->add_option("DIR", options.pack, "The folder of the pack")->required()->expected(1);
  add_selection(replay, options);
  add_execution(replay, options);
  replay->add_flag("--keep", options.keep,
                   "Keep the tensors of every output that does not conform, as .npy files in "
                   "tensors/ of the run's directory");
  replay->add_flag("--alone", options.alone, "Execute every package in a process of its own");
  replay->add_flag("--strict", options.strict,
                   "Also fail on `fixed`, `inconclusive` and `refused`");
  replay->add_flag("--no-expectations", options.no_expectations, "Judge as if nothing were known");
  add_min_judged(replay, options, "90");
  add_report_files(replay, options);
  add_telling(replay, options);
  replay->footer(selection_help());
}

void add_serve(CLI::App& app) {
  app.add_subcommand(
      "serve",
      "Execute parts of another Lockstep's run as standard input says, and write the "
      "log to standard output: what `run --on` starts on other machines");
}

void add_list(CLI::App& app, Options& options) {
  CLI::App* list = app.add_subcommand("list", "Print the ids that SELECT takes; needs no torch");
  add_selection(list, options);
  add_ladder(list, options);
  list->add_flag("--count", options.count,
                 "How many they are, on each path where paths are chosen");
  list->add_flag("--json", options.json,
                 "As JSON: of each id title, file, operators, dtypes and levels");
  const std::pair<const char*, const char*> kinds[] = {
      {"paths", "Print instead the paths: which are taken by default, and the ladder"},
      {"levels", "Print instead the levels, and how much each takes"},
      {"policies", "Print instead the policies of `compare`, and when each agrees"},
      {"statuses",
       "Print instead the words for a verdict: statuses, standings, grades and what `gate` says"}};
  for (const auto& [name, help] : kinds) {
    const std::string words = name;
    list->add_flag_callback(
        "--" + words,
        [&options, words] {
          options.words += options.words.empty() ? "" : " ";
          options.words += words;
        },
        help);
  }
  list->add_flag("--markdown", options.markdown, "These tables in Markdown");
  list->add_flag("--as-level", options.as_level,
                 "As a file of expected/levels/ that takes what is listed, for ever");
  list->add_flag("--unswept", options.unswept,
                 "Print instead the operators that no selected sweep takes, with the reason "
                 "(without SELECT: that no sweep takes)");
  list->footer(selection_help());
}

void add_show(CLI::App& app, Options& options) {
  CLI::App* show =
      app.add_subcommand("show", "Print cases as readable programs, with inputs as numbers");
  add_selection(show, options);
  show->footer(selection_help());
}

void add_repro(CLI::App& app, Options& options) {
  CLI::App* repro = app.add_subcommand(
      "repro", "Print one instance as a Python script that needs torch and nothing of Lockstep");
  add_selection(repro, options);
  repro->add_flag(
      "--brief", options.brief,
      "The few lines that a report has room for: the program, its inputs as numbers, and "
      "what each side returns");
  repro->add_option("--out", options.out, "Write it to FILE instead")->type_name("FILE");
  repro->add_option("--threads", options.threads, "Threads that it computes with")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  repro->footer(selection_help());
}

/// How long a command may search, and with how much of the machine.
void add_search(CLI::App* command, Options& options) {
  command->add_option("--seconds", options.seconds, "Begin nothing new after so many")
      ->capture_default_str()
      ->check(number_between(1, kMostSeconds))
      ->type_name("S");
  command
      ->add_option("-j,--jobs", options.jobs, "Executions at a time (default: three for two cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->add_option("--threads", options.threads, "Threads of each execution")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

void add_explain(CLI::App& app, Options& options) {
  CLI::App* explain = app.add_subcommand(
      "explain", "Say who did it: the layer, the operator, the setting that ends it, the numbers");
  add_selection(explain, options);
  add_search(explain, options);
  explain
      ->add_option("--knobs", options.knobs_file,
                   "Settings of your own to try besides (runner/explain/README.md)")
      ->type_name("FILE");
  explain->add_flag("--json", options.json, "As JSON");
  explain->add_option("--out", options.out, "Write it to FILE instead")->type_name("FILE");
  explain->footer(selection_help());
}

void add_shrink(CLI::App& app, Options& options) {
  CLI::App* shrink = app.add_subcommand(
      "shrink", "Make a case smaller as long as it departs in the same way, and print its script");
  add_selection(shrink, options);
  add_search(shrink, options);
  shrink->add_flag("--no-cache", options.no_cache,
                   "Know nothing of what an earlier one found out about the same candidates");
  shrink->add_option("--out", options.out, "Write the case to FILE, which must not be there")
      ->type_name("FILE");
  shrink->footer(selection_help());
}

void add_findings(CLI::App& app, Options& options) {
  CLI::App* findings = app.add_subcommand(
      "findings",
      "Write what is known of compilers but reported nowhere, as text ready to be filed");
  findings->add_option("--out", options.out, "Write it to FILE instead")->type_name("FILE");
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
  coverage->add_option("--out", options.out, "Write it to FILE instead")->type_name("FILE");
  add_libraries(coverage, options);
}

void add_new(CLI::App& app, Options& options) {
  CLI::App* fresh = app.add_subcommand(
      "new", "Write a case to begin with for a report: its link, inputs and steps to fill in");
  fresh
      ->add_option("NUMBER", options.select,
                   "The report: 185337, 185337-half-round-trip, or its address")
      ->required()
      ->expected(1);
  CLI::Option* like = fresh->add_option("--like", options.like, "With the program of this case");
  like->type_name("ID");
  fresh->add_option("--op", options.op, "With one call of this operator, such as softmax.int")
      ->type_name("OPERATOR")
      ->excludes(like);
  fresh
      ->add_option("--out", options.out,
                   "Write it to FILE instead of cases/bugs/ of the suite, where `run ./FILE` "
                   "takes it as well")
      ->type_name("FILE");
  add_libraries(fresh, options);
}

void add_completion(CLI::App& app, Options& options) {
  CLI::App* completion = app.add_subcommand(
      "completion", "Print what a shell needs to complete commands, options, paths and ids");
  completion->add_option("SHELL", options.select, "bash, zsh or fish")
      ->required()
      ->expected(1)
      ->check(CLI::IsMember(kShells));
  app.add_subcommand("man", "Print the manual page: lockstep man | man -l -");
}

void add_check(CLI::App& app, Options& options) {
  CLI::App* check = app.add_subcommand(
      "check", "Validate cases, expectations, paths and levels; needs no torch at run time");
  check->add_option("FILE", options.select,
                    "Files of any of these kinds (default: the whole suite)");
  add_path_files(check, options);
  add_libraries(check, options);
}

void add_report(CLI::App& app, Options& options) {
  CLI::App* report = app.add_subcommand("report", "Write the reports of a run again from its log");
  report->add_option("LOG", options.select,
                     "The log run.jsonl, or the directory of a run (default: the latest)");
  report->add_option("--out", options.out, "Directory for the reports (default: beside the log)")
      ->type_name("DIR");
  add_report_files(report, options);
  report->add_flag("--strict", options.strict,
                   "Also fail on `fixed`, `inconclusive` and `refused`");
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
  merge->add_flag("--strict", options.strict, "Also fail on `fixed`, `inconclusive` and `refused`");
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

/// What a vendor shows of a certificate.
void add_showing(CLI::App* command, Options& options) {
  command
      ->add_option("--page", options.page_file,
                   "Write a page for the vendor's site that says what the archive says to FILE")
      ->type_name("FILE");
  command->add_option("--badge", options.badge_file, "Write a badge, an SVG, to FILE")
      ->type_name("FILE");
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
  CLI::Option* signature =
      verify->add_option("--signature", options.signature_file,
                         "Check its signature in FILE, too, which `ssh-keygen -Y sign` or "
                         "`minisign` has made");
  signature->type_name("FILE");
  verify
      ->add_option("--signers", options.signers_file,
                   "Of ssh: whose signatures are taken (allowed_signers, see ssh-keygen(1))")
      ->type_name("FILE")
      ->needs(signature);
  verify->add_option("--key", options.key, "Of minisign: the public key, or the file that has it")
      ->type_name("KEY")
      ->needs(signature);
  add_percent(verify, "--sample", options.sample,
              "Execute this part of its verdicts here, drawn by chance, and compare: 5%");
  verify->add_option("--seed", options.seed, "Draws the sample (default: by chance)")
      ->type_name("SEED");
  add_showing(verify, options);
  add_path_files(verify, options);
  add_libraries(verify, options);
  add_pace(verify, options);
}

void add_doctor(CLI::App& app, Options& options) {
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Say what a run would find on this machine, and the remedy where it lacks");
  doctor->add_flag("--quick", options.quick, "Start no worker: say only what shows from outside");
  add_path_files(doctor, options);
  add_libraries(doctor, options);
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  facts.positional = option.get_positional();
  if (facts.positional) {
    facts.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0 && !facts.positional)
    facts.value = option.get_type_name().substr(0, option.get_type_name().find(':'));
  if (facts.names.back() == "--color") facts.choices = kColors;
  if (facts.names.front() == "SHELL") facts.choices = kShells;
  facts.help = option.get_description();
  return facts;
}

CommandFacts facts_of(const CLI::App& app, std::string name) {
  CommandFacts facts{std::move(name), app.get_description(), {}};
  for (const CLI::Option* option : app.get_options()) facts.options.push_back(facts_of(*option));
  return facts;
}

}  // namespace

void add_commands(CLI::App& app, Options& options) {
  app.name("lockstep");
  app.description(kAbout);
  app.set_version_flag("--version", std::string("lockstep ") + LOCKSTEP_VERSION,
                       "Print the version");
  app.add_option("--suite", options.suite,
                 "The folder of a suite of your own: cases/, and where you want them expected/ and "
                 "paths/ (default: Lockstep's)")
      ->type_name("DIR");
  app.add_option("--color", options.color, "Colours in the output: auto, always or never")
      ->capture_default_str()
      ->check(CLI::IsMember(kColors))
      ->type_name("WHEN");
  app.footer(kEnvironment);
  app.require_subcommand(1);
  app.fallthrough();
  add_run(app, options);
  add_pack(app, options);
  add_replay(app, options);
  add_serve(app);
  add_list(app, options);
  add_show(app, options);
  add_repro(app, options);
  add_explain(app, options);
  add_shrink(app, options);
  add_findings(app, options);
  add_coverage(app, options);
  add_new(app, options);
  add_completion(app, options);
  add_check(app, options);
  add_report(app, options);
  add_merge(app, options);
  add_gate(app, options);
  add_certify(app, options);
  add_verify(app, options);
  add_doctor(app, options);
}

std::vector<CommandFacts> command_facts() {
  Options unused;
  CLI::App app;
  add_commands(app, unused);
  std::vector<CommandFacts> facts = {facts_of(app, "")};
  for (const CLI::App* command : app.get_subcommands({}))
    facts.push_back(facts_of(*command, command->get_name()));
  return facts;
}

std::string environment_help() { return kEnvironment; }

std::string selection_help() { return "\n" + filter_help() + kStatuses; }

}  // namespace lockstep
