#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "commands/options.h"

// The subcommands with their flags; before them what several of these have in common.
namespace lockstep {

constexpr double kMostSeconds = 1e6;  ///< that a flag takes: eleven days

/// A number of these bounds, which are shown as given here; CLI::Range lets NaN pass.
CLI::Validator number_between(double low, double high);

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
               const char* help, const char* type = "FILE");

/// Wherever operators are resolved or executed.
void add_libraries(CLI::App* command, Options& options);

/// Wherever paths are known.
void add_path_files(CLI::App* command, Options& options);

/// SELECT, and what selects beside it; the subcommand's footer explains it.
void add_selection(CLI::App* command, Options& options);

/// Of what takes paths, or tells of them.
void add_ladder(CLI::App* command, Options& options);

/// A flag for each format of a report.
void add_report_files(CLI::App* command, Options& options);

/// `fallback`: what holds without the flag, in words.
void add_min_judged(CLI::App* command, Options& options, const char* fallback);

/// How much of its verdicts a run tells, and to whom.
void add_telling(CLI::App* command, Options& options);

/// Executions at a time.
void add_jobs(CLI::App* command, Options& options);

/// Threads of each execution.
CLI::Option* add_threads(CLI::App* command, Options& options,
                         const char* help = "Threads of each execution");

/// Which standings fail besides.
void add_strict(CLI::App* command, Options& options);

/// `--out`, of what is else printed.
void add_out_file(CLI::App* command, Options& options);

/// How fast, and how long at most, instances are executed.
void add_pace(CLI::App* command, Options& options);

// flags_of_runs.cpp: what executes.
void add_run(CLI::App& app, Options& options);
void add_pack(CLI::App& app, Options& options);
void add_replay(CLI::App& app, Options& options);
void add_serve(CLI::App& app);

// flags_of_cases.cpp: what reads cases, or searches in one.
void add_list(CLI::App& app, Options& options);
void add_show(CLI::App& app, Options& options);
void add_repro(CLI::App& app, Options& options);
void add_explain(CLI::App& app, Options& options);
void add_shrink(CLI::App& app, Options& options);
void add_new(CLI::App& app, Options& options);
void add_check(CLI::App& app, Options& options);

// flags_of_logs.cpp: what reads the logs of runs, and certificates.
void add_findings(CLI::App& app, Options& options);
void add_coverage(CLI::App& app, Options& options);
void add_report(CLI::App& app, Options& options);
void add_merge(CLI::App& app, Options& options);
void add_gate(CLI::App& app, Options& options);
void add_certify(CLI::App& app, Options& options);
void add_verify(CLI::App& app, Options& options);

}  // namespace lockstep
