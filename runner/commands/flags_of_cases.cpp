// The flags of what reads cases, or searches in one.
#include "base/text.h"
#include "commands/options.h"

namespace lockstep {
namespace {

/// How long a command may search, and with how much of the machine.
void add_search(Flags& flags, double& seconds, Pace& pace) {
  flags.value("--seconds", seconds, "Begin nothing new after so many")
      ->capture_default_str()
      ->check(number_between(1, kMostSeconds))
      ->type_name("S");
  add_jobs(flags, pace);
  add_threads(flags, pace)->capture_default_str();
}

}  // namespace

void add_flags(Flags& flags, ListOptions& options) {
  add_selection(flags, options.basis);
  add_ladder(flags, options.basis.choice.ladder);
  flags.flag("--count", options.count, "How many they are, on each path where paths are chosen");
  flags.flag("--json", options.json,
             "As JSON: of each id title, file, operators, dtypes and levels");
  const std::pair<const char*, const char*> kinds[] = {
      {"paths", "Print instead the paths: which are taken by default, and the ladder"},
      {"levels", "Print instead the levels, and how much each takes"},
      {"policies", "Print instead the policies of `compare`, and when each agrees"},
      {"statuses",
       "Print instead the words for a verdict: statuses, standings, grades and what `gate` says"}};
  for (const auto& [name, help] : kinds) {
    const std::string word = name;
    flags.callback_flag(
        "--" + word, [&options, word] { options.words.push_back(word); },
        [&options, word] { return contains(options.words, word); }, help);
  }
  flags.flag("--markdown", options.markdown,
             "These tables in Markdown; else a table of the cases, with what is known of them");
  flags.flag("--as-level", options.as_level,
             "As a file of expected/levels/ that takes what is listed, for ever");
  flags.flag("--unswept", options.unswept,
             "Print instead the operators that no selected sweep takes, with the reason "
             "(without SELECT: that no sweep takes)");
}

void add_flags(Flags& flags, ShowOptions& options) { add_selection(flags, options.basis); }

void add_flags(Flags& flags, ReproOptions& options) {
  add_selection(flags, options.basis);
  flags.flag("--brief", options.brief,
             "The few lines that a report has room for: the program, its inputs as numbers, and "
             "what each side returns");
  add_out_file(flags, options.out);
  add_threads(flags, options.basis.pace, "Threads that it computes with");
}

void add_flags(Flags& flags, ExplainingOptions& options) {
  add_selection(flags, options.basis);
  add_search(flags, options.seconds, options.basis.pace);
  flags
      .file("--knobs", options.knobs,
            "Settings of your own to try besides (runner/explain/README.md)")
      ->type_name("FILE");
  flags.flag("--json", options.json, "As JSON");
  add_out_file(flags, options.out);
}

void add_flags(Flags& flags, ShrinkOptions& options) {
  add_selection(flags, options.basis);
  add_search(flags, options.seconds, options.basis.pace);
  flags.flag("--same-operators", options.same_operators,
             "Keep the operators that `explain` accuses, so that what diverges in the same "
             "way for another reason is not taken");
  flags.flag("--no-cache", options.basis.no_cache,
             "Know nothing of what an earlier one found out about the same candidates");
  flags.value("--out", options.out, "Write the case to FILE, which must not be there")
      ->type_name("FILE");
}

void add_flags(Flags& flags, NewOptions& options) {
  flags
      .positional("NUMBER", options.report,
                  "The report: 185337, 185337-half-round-trip, or its address")
      ->required()
      ->expected(1);
  CLI::Option* like = flags.value("--like", options.like, "With the program of this case");
  like->type_name("ID");
  flags.value("--op", options.op, "With one call of this operator, such as softmax.int")
      ->type_name("OPERATOR")
      ->excludes(like);
  flags
      .value("--out", options.out,
             "Write it to FILE instead of cases/bugs/ of the suite, where `run ./FILE` "
             "takes it as well")
      ->type_name("FILE");
  add_libraries(flags, options.basis.files);
}

void add_flags(Flags& flags, CheckOptions& options) {
  flags.positional("FILE", options.files, "Files of any of these kinds (default: the whole suite)");
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
  flags.flag("--deep", options.deep, "Build what is missing, and start the workers of every path");
  add_path_files(flags, options.basis.files);
  add_libraries(flags, options.basis.files);
}

void add_flags(Flags& flags, ManOptions&) { (void)flags; }

void add_flags(Flags& flags, ServeOptions&) { (void)flags; }

}  // namespace lockstep
