// The flags of commands that execute, and of certificates.
#include "requests/flags.h"

namespace lockstep {
namespace {

/// How instances are executed, and where the run is written.
void add_execution(Flags& flags, RunRequest& request) {
  add_pace(flags, request.basis.pace);
  flags.under(headings::kWrites);
  flags
      .value("--out", request.out,
             "The directory of the log and the reports (default: a new one in .lockstep/runs)")
      ->type_name("DIR");
}

constexpr const char* kKnown =
    "Expectations of your own beside the suite's: docs/cases/expectations.md (repeatable)";

/// `--no-expectations`.
void add_no_expectations(Flags& flags, OwnFiles& files, const char* help) {
  flags.under(headings::kFails);
  flags.off("--no-expectations", files.expectations, help);
}

/// What a vendor shows of a certificate.
void add_showing(Flags& flags, Showing& showing) {
  flags.under(headings::kWrites);
  flags.value("--page", showing.page, "Write a page for your site, about the archive, to FILE")
      ->type_name("FILE");
  flags.value("--badge", showing.badge, "Write a badge (SVG) to FILE")->type_name("FILE");
}

/// With which other machines, and which earlier runs, a run has to do.
void add_where(Flags& flags, RunRequest& request) {
  flags.under(headings::kAgain);
  flags
      .value("--resume", request.resume,
             "Continue the run in DIR, which ended early, with the arguments that it had")
      ->type_name("DIR");
  flags.under(headings::kMachines);
  flags
      .value("--on", request.on,
             "Execute on a Dask cluster (docs/release/cluster.md). Its scheduler is "
             "dask://HOST:PORT, dask+tls://HOST:PORT or dask:FILE; dask: one on this machine; "
             "local: none")
      ->type_name("CLUSTER");
  flags
      .value("--shard", request.shard,
             "Run one part of a run, such as 2/5; `merge` puts the parts together. auto: as the "
             "variables of GitLab, Buildkite, CircleCI, SLURM or Kubernetes say")
      ->type_name("NUMBER/OF");
  flags
      .file("--durations", request.durations,
            "Balance shards, or the machines of --on, by the durations in LOG. Give all shards "
            "the same LOG")
      ->type_name("LOG");
}

/// When a run stops, and what it executes several times.
CLI::Option* add_repeating(Flags& flags, RunRequest& request) {
  flags.under(headings::kFails);
  flags.value("--max-fail", request.max_fail, "Stop after N failing verdicts")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  flags.app().add_flag_callback(
      "--fail-fast", [&request] { request.max_fail = 1; }, "Stop after the first failing verdict");
  flags.under(headings::kAgain);
  CLI::Option* repeat =
      flags.value("--repeat", request.repeat,
                  "Execute everything N times. The worst verdict counts; one that changes is "
                  "`unstable`");
  repeat->check(CLI::Range(1, 10000))->type_name("N");
  add_percent(flags, "--repeat-percent", request.repeat_percent,
              "Repeat only this part of the verdicts, drawn by chance, such as 10%")
      ->needs(repeat);
  flags
      .value("--repeat-seed", request.repeat_seed,
             "Draw the same part as the run whose log has this seed")
      ->type_name("SEED")
      ->needs(repeat);
  flags
      .value("--fresh-seed", request.fresh_seed,
             "Draw new inputs from this seed for what conforms on a path that is not torch's own "
             "(default: by chance with --strict, else `none`)")
      ->type_name("SEED");
  flags.under(headings::kHow);
  flags.flag("--ignore-declared", request.ignore_declared,
             "Execute also what path files declare as `unsupported`, to find declarations that "
             "are not needed");
  flags.under(headings::kAgain);
  flags
      .value("--retries", request.retries,
             "Execute what fails at most N times more. If it then conforms, it still fails as "
             "`unstable`, unless it is a known flake: docs/cases/expectations.md")
      ->check(CLI::Range(0, 1000))
      ->type_name("N")
      ->excludes(repeat);
  return repeat;
}

}  // namespace

void add_flags(Flags& flags, RunRequest& request) {
  add_selection(flags, request.basis);
  add_ladder(flags, request.basis.choice.ladder);
  add_relations(flags, request.basis.choice.relations);
  add_threads(flags, request.basis.pace);
  add_execution(flags, request);
  add_where(flags, request);
  flags.under(headings::kWrites);
  CLI::Option* save_tensors =
      flags.flag("--save-tensors", request.save_tensors,
                 "Save the tensors of each output that does not conform, as .npy files");
  add_strict(flags, request.reporting);
  add_min_judged(flags, request.reporting, "90 with --strict and for levels");
  flags.under(headings::kOwn);
  flags.files("--known", request.basis.files.known_files, kKnown);
  add_no_expectations(flags, request.basis.files, "Ignore all expectations");
  CLI::Option* repeat = add_repeating(flags, request);
  flags.under(headings::kWrites);
  flags
      .optional_value(
          "--explain", "600", request.explain_seconds,
          "Explain at the end what failed, as `explain` does, one verdict of each fingerprint "
          "first. Each takes two minutes at most; nothing begins after SECONDS (600)")
      ->check(CLI::Range(1.0, 1e6))
      ->type_name("SECONDS");
  flags.under(headings::kAgain);
  flags
      .flag("--reuse", request.reuse,
            "Take verdicts from earlier runs with --reuse if nothing has changed that decides "
            "them: case, path, torch, workers, judge, machine. Execute the others")
      ->excludes(repeat)
      ->excludes(save_tensors);
  flags.under(headings::kHow);
  flags
      .optional_value("--shuffle", "random", request.shuffle,
                      "Take the instances in random order; a SEED repeats an order")
      ->type_name("SEED");
  flags.under(headings::kWrites);
  flags
      .optional_value("--update-known", "default", request.reporting.update_known,
                      "Propose expectations for new divergences, in expected/known/proposed.json "
                      "or FILE (- is standard output). You write the reasons")
      ->type_name("FILE");
  flags.flag("--accept-crashes", request.reporting.accept_crashes,
             "With --update-known: propose them for crashes, time-outs and lack of memory, too");
  add_report_files(flags, request.reporting);
  flags.under(headings::kHow);
  flags.flag("--alone", request.alone,
             "Compile every instance by itself, also those that may share a graph");
  flags.flag("--no-cache", request.basis.no_cache, "Keep no compiled kernels for later runs");
  add_telling(flags, request.reporting);
}

void add_flags(Flags& flags, PackRequest& request) {
  flags.positional("DIR", request.folder, "The folder to write: empty, or not there yet")
      ->required()
      ->expected(1);
  add_selection(flags, request.run.basis);
  add_execution(flags, request.run);
  flags.under(headings::kOwn);
  flags.files("--known", request.run.basis.files.known_files, kKnown);
  add_no_expectations(flags, request.run.basis.files, "Pack no expectations");
  flags.under(headings::kHow);
  flags.flag("--no-cache", request.run.basis.no_cache, "Keep no compiled kernels for later runs");
  add_report_files(flags, request.run.reporting);
  add_telling(flags, request.run.reporting);
}

void add_flags(Flags& flags, ReplayRequest& request) {
  flags.positional("DIR", request.folder, "The folder of the pack")->required()->expected(1);
  add_selection(flags, request.run.basis);
  add_execution(flags, request.run);
  flags.flag("--save-tensors", request.run.save_tensors,
             "Save the tensors of each output that does not conform, as .npy files");
  flags.under(headings::kHow);
  flags.flag("--alone", request.run.alone, "Execute every package in a process of its own");
  add_strict(flags, request.run.reporting);
  add_no_expectations(flags, request.run.basis.files, "Ignore all expectations");
  add_min_judged(flags, request.run.reporting, "90");
  add_report_files(flags, request.run.reporting);
  add_telling(flags, request.run.reporting);
}

void add_flags(Flags& flags, CertifyRequest& request) {
  flags.under(headings::kWhich);
  flags.value("--level", request.basis.choice.level, "A frozen level, such as smoke-1")
      ->required()
      ->type_name("LEVEL");
  flags.value("--path", request.basis.choice.paths, "The path that is to conform")
      ->required()
      ->expected(1)
      ->type_name("PATH");
  flags.value("--device", request.basis.choice.devices, "The device (default: cpu)")
      ->expected(1)
      ->type_name("DEVICE");
  add_path_files(flags, request.basis.files);
  flags.files("--waivers", request.waivers,
              "Expectations that you agreed on with the suite's owners: docs/vendor/conformance.md "
              "(repeatable)");
  flags.under(headings::kWrites);
  flags.value("--out", request.out, "The archive (default: PATH-LEVEL.tar in this directory)")
      ->type_name("ARCHIVE");
  flags
      .value(
          "--run", request.run_folder,
          "The run's directory. A run in it continues; a whole one is taken after a sample of it "
          "has been executed again (default: a new one in .lockstep/certificates)")
      ->type_name("DIR");
  flags
      .value("--draft", request.draft,
             "Write to FILE what the path's file could declare by what the run was refused: "
             "`unsupported` and `refuses`, with reasons to fill in")
      ->type_name("FILE");
  add_showing(flags, request.showing);
  add_libraries(flags, request.basis.files);
  add_pace(flags, request.basis.pace);
}

void add_flags(Flags& flags, VerifyRequest& request) {
  flags.positional("ARCHIVE", request.archive, "The archive")->required()->expected(1);
  flags.under(headings::kAgain);
  add_percent(flags, "--sample", request.sample,
              "Execute this part of its verdicts here, drawn by chance, and compare; such as 5%");
  flags.value("--seed", request.seed, "Draw the same sample again (default: by chance)")
      ->type_name("SEED");
  add_showing(flags, request.showing);
  add_path_files(flags, request.basis.files);
  add_libraries(flags, request.basis.files);
  add_pace(flags, request.basis.pace);
}

}  // namespace lockstep
