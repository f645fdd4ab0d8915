// The flags of what executes, and of certificates.
#include "requests/flags.h"

namespace lockstep {
namespace {

/// How instances are executed, and where the run is written.
void add_execution(Flags& flags, RunRequest& request) {
  add_pace(flags, request.basis.pace);
  flags
      .value("--out", request.out,
             "Directory for the log and the reports (default: a new one in .lockstep/runs)")
      ->type_name("DIR");
}

/// `--no-expectations`.
void add_no_expectations(Flags& flags, OwnFiles& files, const char* help) {
  flags.off("--no-expectations", files.expectations, help);
}

/// What a vendor shows of a certificate.
void add_showing(Flags& flags, Showing& showing) {
  flags
      .value("--page", showing.page,
             "Write a page for the vendor's site that says what the archive says to FILE")
      ->type_name("FILE");
  flags.value("--badge", showing.badge, "Write a badge, an SVG, to FILE")->type_name("FILE");
}

/// With which other machines, and which earlier runs, a run has to do.
void add_where(Flags& flags, RunRequest& request) {
  flags
      .value("--resume", request.resume,
             "Go on with the run in DIR, which ended early, with the arguments that it had")
      ->type_name("DIR");
  flags
      .value("--on", request.on,
             "Execute on a Dask cluster (docs/release/cluster.md): dask://HOST:PORT, dask+tls://"
             "HOST:PORT or dask:FILE, of its scheduler; dask: one on this machine; local: none")
      ->type_name("CLUSTER");
  flags
      .value(
          "--shard", request.shard,
          "Run one part of so many, which machines that know nothing of each other choose alike: "
          "2/5, "
          "or auto, which asks the variables of GitLab, Buildkite, CircleCI, SLURM or Kubernetes; "
          "`merge` puts them together")
      ->type_name("NUMBER/OF");
  flags
      .file("--durations", request.durations,
            "Balance the shards, or the machines of --on, by what verdicts took in LOG; the same "
            "for all shards")
      ->type_name("LOG");
}

/// When a run stops, and what it executes several times.
CLI::Option* add_repeating(Flags& flags, RunRequest& request) {
  flags.value("--max-fail", request.max_fail, "Stop after N failing verdicts")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  flags.app().add_flag_callback(
      "--fail-fast", [&request] { request.max_fail = 1; }, "Stop after the first failing verdict");
  CLI::Option* repeat =
      flags.value("--repeat", request.repeat,
                  "Execute everything N times; the worst verdict counts, and one that changes is "
                  "`unstable`");
  repeat->check(CLI::Range(1, 10000))->type_name("N");
  add_percent(flags, "--repeat-percent", request.repeat_percent,
              "With --repeat: only this part of the verdicts, drawn by chance (10%); the others "
              "once")
      ->needs(repeat);
  flags
      .value("--repeat-seed", request.repeat_seed,
             "Draw the same part again as a run whose log names this seed")
      ->type_name("SEED")
      ->needs(repeat);
  flags.flag("--ignore-declared", request.ignore_declared,
             "Execute also what the path files declare as `unsupported`: what conforms is "
             "declared needlessly");
  flags
      .value("--retries", request.retries,
             "Execute what would fail the run at most N times more, until it does not; it still "
             "fails, is `unstable`, and says how often, unless it is known as a flake "
             "(expected/README.md)")
      ->check(CLI::Range(0, 1000))
      ->type_name("N")
      ->excludes(repeat);
  return repeat;
}

}  // namespace

void add_flags(Flags& flags, RunRequest& request) {
  add_selection(flags, request.basis);
  add_ladder(flags, request.basis.choice.ladder);
  add_threads(flags, request.basis.pace)->capture_default_str();
  add_execution(flags, request);
  add_where(flags, request);
  CLI::Option* save_tensors =
      flags.flag("--save-tensors", request.save_tensors,
                 "Keep the tensors of every output that does not conform, as .npy files in "
                 "tensors/ of the run's directory");
  add_strict(flags, request.reporting);
  add_min_judged(flags, request.reporting, "90 with --strict and for levels");
  flags.files("--known", request.basis.files.known_files,
              "Expectations of your own beside the suite's (expected/README.md; repeatable)");
  add_no_expectations(flags, request.basis.files, "Judge as if nothing were known");
  CLI::Option* repeat = add_repeating(flags, request);
  flags
      .optional_value(
          "--explain", "600", request.explain_seconds,
          "Say at the end who did what fails, as `explain` does: one verdict of each fingerprint "
          "first, two minutes each at most; begin nothing new after 600 seconds, or as many "
          "as --explain=SECONDS says")
      ->check(CLI::Range(1.0, 1e6))
      ->type_name("SECONDS");
  flags
      .flag("--reuse", request.reuse,
            "Take the verdicts that an earlier --reuse made of the same cases, paths, torch, "
            "workers, judge and machine, marked as such, and execute the others")
      ->excludes(repeat)
      ->excludes(save_tensors);
  flags.optional_value("--shuffle", "random", request.shuffle,
                       "Take the instances in random order; --shuffle=SEED repeats one");
  flags.optional_value(
      "--update-known", "default", request.reporting.update_known,
      "Propose expectations for new divergences in expected/known/proposed.json "
      "(--update-known=FILE: there; - is standard output); the reasons are yours to write");
  flags.flag("--accept-crashes", request.reporting.accept_crashes,
             "With --update-known: also for crashes, time-outs and want of memory");
  add_report_files(flags, request.reporting);
  flags.flag("--alone", request.alone,
             "Compile every instance by itself, also those that may share a graph");
  flags.flag("--no-cache", request.basis.no_cache, "Keep no compilation cache between runs");
  add_telling(flags, request.reporting);
}

void add_flags(Flags& flags, PackRequest& request) {
  flags
      .positional("DIR", request.folder, "Where to write them: a folder that is empty or not there")
      ->required()
      ->expected(1);
  add_selection(flags, request.run.basis);
  add_execution(flags, request.run);
  flags.files("--known", request.run.basis.files.known_files,
              "Expectations of your own beside the suite's (expected/README.md; repeatable)");
  add_no_expectations(flags, request.run.basis.files, "Pack none, as if nothing were known");
  flags.flag("--no-cache", request.run.basis.no_cache, "Keep no compilation cache between runs");
  add_report_files(flags, request.run.reporting);
  add_telling(flags, request.run.reporting);
}

void add_flags(Flags& flags, ReplayRequest& request) {
  flags.positional("DIR", request.folder, "The folder of the pack")->required()->expected(1);
  add_selection(flags, request.run.basis);
  add_execution(flags, request.run);
  flags.flag("--save-tensors", request.run.save_tensors,
             "Keep the tensors of every output that does not conform, as .npy files in "
             "tensors/ of the run's directory");
  flags.flag("--alone", request.run.alone, "Execute every package in a process of its own");
  add_strict(flags, request.run.reporting);
  add_no_expectations(flags, request.run.basis.files, "Judge as if nothing were known");
  add_min_judged(flags, request.run.reporting, "90");
  add_report_files(flags, request.run.reporting);
  add_telling(flags, request.run.reporting);
}

void add_flags(Flags& flags, CertifyRequest& request) {
  flags.value("--level", request.basis.choice.level, "The level, a frozen one")
      ->required()
      ->type_name("LEVEL");
  flags.value("--path", request.basis.choice.paths, "The path")
      ->required()
      ->expected(1)
      ->type_name("PATH");
  flags.value("--device", request.basis.choice.devices, "The device (default: cpu)")
      ->expected(1)
      ->type_name("DEVICE");
  add_path_files(flags, request.basis.files);
  flags.files("--waivers", request.waivers,
              "Expectations that were agreed with the suite's owners, each with reason and link, "
              "bound to a device and its driver (repeatable)");
  flags
      .value("--out", request.out,
             "The archive to write (default: PATH-LEVEL.tar in this directory)")
      ->type_name("ARCHIVE");
  flags
      .value("--run", request.run_folder,
             "The run's directory; what is there is gone on with, or taken if it is whole "
             "(default: a new one in .lockstep/certificates)")
      ->type_name("DIR");
  flags.value("--seed", request.seed, "Draws what is executed several times (default: by chance)")
      ->type_name("SEED");
  add_showing(flags, request.showing);
  add_libraries(flags, request.basis.files);
  add_pace(flags, request.basis.pace);
}

void add_flags(Flags& flags, VerifyRequest& request) {
  flags.positional("ARCHIVE", request.archive, "The archive")->required()->expected(1);
  add_percent(flags, "--sample", request.sample,
              "Execute this part of its verdicts here, drawn by chance, and compare: 5%");
  flags.value("--seed", request.seed, "Draws the sample (default: by chance)")->type_name("SEED");
  add_showing(flags, request.showing);
  add_path_files(flags, request.basis.files);
  add_libraries(flags, request.basis.files);
  add_pace(flags, request.basis.pace);
}

}  // namespace lockstep
