// The flags of commands that read cases, or search in one.
#include "base/text.h"
#include "commands/options.h"

namespace lockstep {
namespace {

/// How long a command may search, and with how much of the machine.
void add_search(Flags& flags, double& seconds, Pace& pace) {
  flags.under(headings::kHow);
  flags.value("--seconds", seconds, "Begin nothing new after so many seconds")
      ->capture_default_str()
      ->check(number_between(1, kMostSeconds))
      ->type_name("S");
  add_jobs(flags, pace);
  add_threads(flags, pace);
}

}  // namespace

void add_flags(Flags& flags, ListOptions& options) {
  add_selection(flags, options.basis);
  add_ladder(flags, options.basis.choice.ladder);
  flags.under(headings::kPrints);
  flags.flag("--count", options.count, "Only how many ids there are, on each path of --path");
  flags.flag("--json", options.json, "JSON: for each id title, file, operators, dtypes and levels");
  const std::pair<const char*, const char*> kinds[] = {
      {"paths", "No ids, but the paths: the default ones, and the ladder"},
      {"levels", "No ids, but the levels, and how much each takes"},
      {"policies", "No ids, but the policies of `compare`, and when each agrees"},
      {"statuses", "No ids, but the words for verdicts: statuses, standings, grades, transitions"}};
  for (const auto& [name, help] : kinds) {
    const std::string word = name;
    flags.callback_flag(
        "--" + word, [&options, word] { options.words.push_back(word); },
        [&options, word] { return contains(options.words, word); }, help);
  }
  flags.flag("--markdown", options.markdown,
             "A Markdown table: of the cases and what is known of them, or of the words above");
  flags.flag("--as-level", options.as_level,
             "A file for expected/levels/ that freezes what is listed");
  flags.flag("--unswept", options.unswept,
             "No ids, but the operators that none of the selected sweeps takes, with the reason");
}

void add_flags(Flags& flags, ShowOptions& options) { add_selection(flags, options.basis); }

void add_flags(Flags& flags, ReproOptions& options) {
  add_selection(flags, options.basis);
  flags.under(headings::kPrints);
  flags.flag("--brief", options.brief,
             "A few lines for a report: the program, its inputs as numbers, and both results");
  add_out_file(flags, options.out);
  add_threads(flags, options.basis.pace, "Threads that the script computes with");
}

void add_flags(Flags& flags, ExplainingOptions& options) {
  add_selection(flags, options.basis);
  add_search(flags, options.seconds, options.basis.pace);
  flags.under(headings::kOwn);
  flags.file("--knobs", options.knobs, "More settings to try: docs/model/explain.md")
      ->type_name("FILE");
  flags.under(headings::kPrints);
  flags.flag("--json", options.json, "JSON");
  add_out_file(flags, options.out);
}

void add_flags(Flags& flags, ShrinkOptions& options) {
  add_selection(flags, options.basis);
  add_search(flags, options.seconds, options.basis.pace);
  flags.flag("--same-operators", options.same_operators,
             "Keep the operators that `explain` names, so that the small case diverges for the "
             "same reason");
  flags.flag(
      "--allow-drift", options.allow_drift,
      "Take any smaller case that diverges with the same status and class, also with another "
      "magnitude, policy, number of threads or of calls");
  flags.flag("--no-cache", options.basis.no_cache,
             "Execute candidates again that an earlier `shrink` has executed");
  flags.under(headings::kWrites);
  flags.value("--to", options.out, "Write the case to FILE, which must not exist")
      ->type_name("FILE");
}

void add_flags(Flags& flags, CaptureOptions& options) {
  flags
      .positional("PROGRAM", options.program,
                  "A Python file, and behind it its arguments; `--` may stand before it")
      ->required();
  flags.under(headings::kHow);
  flags.value("--seconds", options.seconds, "End the program after so many seconds")
      ->capture_default_str()
      ->check(number_between(1, kMostSeconds))
      ->type_name("S");
  flags.under(headings::kWrites);
  flags.value("--out", options.out, "The directory of the cases (default: PROGRAM-cases)")
      ->type_name("DIR");
  flags.value("--name", options.name, "What the cases are called after (default: PROGRAM)")
      ->type_name("NAME");
  flags.flag("--calls", options.calls,
             "Write every distinct call of an operator, as one sweep, instead of graphs");
  flags.flag("--exact-values", options.exact_values,
             "Write the recorded values, also where a fill with the same statistics would do");
  flags.flag("--as-shown", options.as_shown,
             "Compare as strictly as what the program shows, not by the default policies");
  flags.under(headings::kPrints);
  flags.flag("--json", options.json, "What was captured, and what it shows, as JSON");
}

void add_flags(Flags& flags, NewOptions& options) {
  flags
      .positional("NUMBER", options.report,
                  "The report: 185337, 185337-half-round-trip, or its address")
      ->required()
      ->expected(1);
  flags.under(headings::kWrites);
  CLI::Option* like = flags.value("--like", options.like, "Copy the program of this case");
  like->type_name("ID");
  flags.value("--op", options.op, "Begin with one call of this operator, such as softmax.int")
      ->type_name("OPERATOR")
      ->excludes(like);
  flags
      .value("--to", options.out,
             "Write to FILE instead of cases/bugs/ of the suite; `run ./FILE` takes it")
      ->type_name("FILE");
  add_libraries(flags, options.basis.files);
}

void add_flags(Flags& flags, CheckOptions& options) {
  flags.positional("FILE", options.files, "Files of these kinds (default: the whole suite)");
  add_path_files(flags, options.basis.files);
  add_libraries(flags, options.basis.files);
}

void add_flags(Flags& flags, CompletionOptions& options) {
  flags.positional("SHELL", options.shell, "bash, zsh or fish")
      ->required()
      ->expected(1)
      ->check(CLI::IsMember(std::vector<std::string>{"bash", "zsh", "fish"}));
}

void add_flags(Flags& flags, DoctorOptions& options) {
  flags.under(headings::kHow);
  flags.flag("--deep", options.deep, "Build what is missing, and start the workers of every path");
  add_path_files(flags, options.basis.files);
  add_libraries(flags, options.basis.files);
}

void add_flags(Flags& flags, WarmOptions& options) {
  flags.under(headings::kHow);
  flags.flag("--stop", options.stop, "End it");
  flags.value("--idle", options.idle, "End it after so long without a command that uses it")
      ->type_name("SECONDS")
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str();
}

void add_flags(Flags& flags, ManOptions&) { (void)flags; }

void add_flags(Flags& flags, ServeOptions&) { (void)flags; }

}  // namespace lockstep
