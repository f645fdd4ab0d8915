#include "commands/flags.h"

#include <fmt/format.h>

#include "commands/report_formats.h"

namespace lockstep {
namespace {

constexpr double kMostGib = 1 << 20;  // what no machine has; in bytes an integer holds it

}  // namespace

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

void add_files(CLI::App* command, const char* flag, std::vector<std::filesystem::path>& files,
               const char* help, const char* type) {
  command->add_option(flag, files, help)->type_name(type)->allow_extra_args(false);
}

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

void add_telling(CLI::App* command, Options& options) {
  CLI::Option* verbose =
      command->add_flag("-v,--verbose", options.verbose, "A line for every verdict");
  command->add_flag("-q,--quiet", options.quiet, "Say only what fails, and the totals in one line")
      ->excludes(verbose);
  command->add_flag("--github", options.github,
                    "Print annotations for GitHub, and append the summary to the file that "
                    "GITHUB_STEP_SUMMARY names (default where GITHUB_ACTIONS is set)");
}

void add_jobs(CLI::App* command, Options& options) {
  command
      ->add_option("-j,--jobs", options.jobs, "Executions at a time (default: three for two cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

CLI::Option* add_threads(CLI::App* command, Options& options, const char* help) {
  return command->add_option("--threads", options.threads, help)
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

void add_strict(CLI::App* command, Options& options) {
  command->add_flag("--strict", options.strict,
                    "Also fail on `fixed`, `inconclusive` and `refused`");
}

void add_out_file(CLI::App* command, Options& options) {
  command->add_option("--out", options.out, "Write it to FILE instead")->type_name("FILE");
}

void add_pace(CLI::App* command, Options& options) {
  add_jobs(command, options);
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

}  // namespace lockstep
