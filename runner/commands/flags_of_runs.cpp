// The flags of what executes.
#include "commands/command_line.h"
#include "commands/flags.h"

namespace lockstep {
namespace {

/// How instances are executed, and where the run is written.
void add_execution(CLI::App* command, Options& options) {
  add_pace(command, options);
  command
      ->add_option("--out", options.out,
                   "Directory for the log and the reports (default: a new one in .lockstep/runs)")
      ->type_name("DIR");
}

}  // namespace

void add_run(CLI::App& app, Options& options) {
  CLI::App* run = app.add_subcommand("run", "Execute cases, judge them and write the reports");
  add_selection(run, options);
  add_ladder(run, options);
  add_threads(run, options)->capture_default_str();
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
  add_strict(run, options);
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
  add_strict(replay, options);
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

}  // namespace lockstep
