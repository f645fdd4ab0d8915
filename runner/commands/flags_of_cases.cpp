// The flags of what reads cases, or searches in one.
#include "commands/command_line.h"
#include "commands/flags.h"

namespace lockstep {
namespace {

/// How long a command may search, and with how much of the machine.
void add_search(CLI::App* command, Options& options) {
  command->add_option("--seconds", options.seconds, "Begin nothing new after so many")
      ->capture_default_str()
      ->check(number_between(1, kMostSeconds))
      ->type_name("S");
  add_jobs(command, options);
  add_threads(command, options)->capture_default_str();
}

}  // namespace

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
  list->add_flag("--markdown", options.markdown,
                 "These tables in Markdown; else a table of the cases, with what is known of them");
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
  add_out_file(repro, options);
  add_threads(repro, options, "Threads that it computes with");
  repro->footer(selection_help());
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
  add_out_file(explain, options);
  explain->footer(selection_help());
}

void add_shrink(CLI::App& app, Options& options) {
  CLI::App* shrink = app.add_subcommand(
      "shrink", "Make a case smaller as long as it departs in the same way, and print its script");
  add_selection(shrink, options);
  add_search(shrink, options);
  shrink->add_flag("--same-operators", options.same_operators,
                   "Keep the operators that `explain` accuses, so that what departs in the same "
                   "way for another reason is not taken");
  shrink->add_flag("--no-cache", options.no_cache,
                   "Know nothing of what an earlier one found out about the same candidates");
  shrink->add_option("--out", options.out, "Write the case to FILE, which must not be there")
      ->type_name("FILE");
  shrink->footer(selection_help());
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

void add_check(CLI::App& app, Options& options) {
  CLI::App* check = app.add_subcommand(
      "check", "Validate cases, expectations, paths and levels; needs no torch at run time");
  check->add_option("FILE", options.select,
                    "Files of any of these kinds (default: the whole suite)");
  add_path_files(check, options);
  add_libraries(check, options);
}

}  // namespace lockstep
