#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace lockstep {

/// How a process ends.
enum class Exit {
  ok = 0,        ///< as expected
  failures = 1,  ///< verdicts fail
  usage = 2,     ///< wrong usage, or a file that is invalid
  internal = 3,  ///< Lockstep itself, or no usable worker
  nothing = 4,   ///< nothing was selected
  interrupted = 130,
};

/// The words after the value of a --path or a --device, up to the next option: names or globs as
/// long as they mean one, then SELECT.  What paths there are is not known when options are read.
struct FollowingWords {
  bool of_devices = false;
  std::vector<std::string> words;
};

/// The command line.  Flags come before environment variables, these before what is built in.
struct Options {
  /// run, pack, replay, serve, list, show, repro, explain, shrink, certify, verify, check, report,
  /// merge, gate, doctor, findings, coverage, new, completion or man; empty when `text` says
  /// everything
  std::string command;
  std::vector<std::string> arguments;  ///< as they were given, without the program's name
  /// The command's options that were given, with their values, by name ("--level", "SELECT").
  std::map<std::string, std::vector<std::string>> given;
  /// What to print instead of running a command (help, version, a usage error), and how to end
  /// then.
  std::string text;
  Exit exit = Exit::ok;

  std::filesystem::path directory;  ///< where the command was given: names of files begin there
  std::filesystem::path home;       ///< LOCKSTEP_HOME: where runner/paths and runner/workers are
  std::filesystem::path suite;      ///< --suite, or home: where cases/ and expected/ are
  std::filesystem::path cache;      ///< LOCKSTEP_CACHE, or home/.lockstep
  std::string python;               ///< LOCKSTEP_PYTHON, or python3
  std::string launcher;             ///< LOCKSTEP_COMMAND: how people call this, or ci/lockstep
  /// LOCKSTEP_EAGER: the executable of the eager worker; empty: lockstep-eager beside the binary.
  std::filesystem::path eager;
  std::string cudart;  ///< LOCKSTEP_CUDART: the CUDA runtime that tells of devices
  /// LOCKSTEP_DIGESTS: "cpu=FILE:cuda=FILE", shared objects that digest storages on devices of that
  /// kind (workers/CUDA.md), besides the one for CUDA beside the binary.
  std::string digests;
  std::string color = "auto";  ///< auto, always, never

  /// Filter terms, and in their order a mark for each of `following`; for `check`,
  /// `report` and `merge` files.
  std::vector<std::string> select;
  std::vector<FollowingWords> following;
  std::string level;  ///< of `run` and `list`
  std::vector<std::string> paths;
  bool causes = false;  ///< list the causes
  bool ladder = false;  ///< take every rung, or those below the paths that are asked for
  std::vector<std::string> devices;
  /// Files besides those of the suite; absolute.  SELECT names case files, too (own_cases.h).
  std::vector<std::filesystem::path> case_files, path_files, known_files;
  /// Shared objects that add operators or kernels to torch; absolute, so that the loader does not
  /// search for them.
  std::vector<std::filesystem::path> libraries;
  std::filesystem::path from;  ///< the log that `status:` terms read; empty: the latest

  std::filesystem::path pack;   ///< DIR of `pack` and `replay`
  std::string like, op;         ///< of `new`: the case or the operator that it begins with
  bool brief = false;           ///< `repro`: the few lines for a report
  bool same_operators = false;  ///< `shrink`: keep those that `explain` accuses
  double seconds = 300;         ///< of `explain` and `shrink`: after which nothing new is begun
  std::filesystem::path knobs_file;  ///< of `explain`: settings to try besides; absolute, or empty
  std::filesystem::path out;  ///< of `run`: the directory of its artefacts; of `report`: likewise
  std::filesystem::path resume;
  std::string on;     ///< the cluster that executes, as it was given; empty or "local": none
  std::string shard;  ///< "2/5", also where `auto` was given; empty: the whole run
  /// The log whose seconds balance the shards, or the machines of a cluster; absolute, or empty.
  std::filesystem::path durations;
  std::size_t jobs = 0;  ///< 0: three for two cores
  int threads = 1;
  double timeout = 60;           ///< seconds a stage may take
  double compile_timeout = 300;  ///< seconds tracing, lowering and compiling may take
  double memory_gib = 0;         ///< address space of one execution; 0: what the machine has
  std::size_t max_fail = 0;
  int repeat = 1;                ///< executions of every item on its path
  double repeat_share = 100;     ///< of `run`: percent of the verdicts that --repeat is about
  std::string repeat_seed;       ///< which these are; a whole number, where they are not all
  bool ignore_declared = false;  ///< execute what a path declares not to support
  bool reuse = false;            ///< take verdicts of earlier runs where nothing has changed
  /// Of `run`: explain what fails, and begin nothing new of that after so many seconds; 0: do not.
  double explain_seconds = 0;
  int retries = 0;      ///< executions more of what would fail the run, until it does not
  std::string shuffle;  ///< the seed, "random", or empty: the order of the suite
  /// Where to propose expectations for new divergences: a file, "-" for standard output; empty:
  /// nowhere.
  std::string update_known;
  bool accept_crashes = false;  ///< propose them for crashes, time-outs and memory, too
  /// Single reports besides those in the run's directory (of `run`) or instead of them (of
  /// `report`); "-" is standard output.
  std::filesystem::path junit_file, ctrf_file, html_file, json_file, summary_file, accuracy_file;
  bool keep = false;  ///< of `run`: the tensors of outputs that do not conform
  bool strict = false;
  /// Percent of what could be judged that must be; empty: record/judged.h has the default.
  std::optional<double> min_judged;
  std::vector<std::filesystem::path> waiver_files;  ///< of `certify`; absolute
  std::filesystem::path page_file, badge_file;      ///< of `certify` and `verify`
  std::filesystem::path run_folder;                 ///< of `certify`: of its run
  std::string seed;                                 ///< of `certify` and `verify`: a whole number
  double sample = 0;               ///< of `verify`: percent of the verdicts that are executed again
  std::filesystem::path baseline;  ///< of `gate`: the log to compare with
  bool compare_eager = false;      ///< of `gate`
  std::vector<std::string> fail_on;                ///< of `gate`: transitions; empty: the default
  std::vector<std::filesystem::path> allow_files;  ///< of `gate`; absolute
  bool no_expectations = false;
  bool alone = false;     ///< share no compilation
  bool no_cache = false;  ///< Inductor's caches live as long as the run
  bool verbose = false;
  bool quiet = false;      ///< of `run`: what fails, and the last line
  bool tolerated = false;  ///< of `report`: list what conforms though it differs
  bool operators = false;  ///< of `report`: list how much conforms by operator and dtype
  bool github = false;
  /// Of `list`: what to print instead of ids, by its flag: "paths", "levels", "policies",
  /// "statuses"; empty: the ids.
  std::string words;
  bool count = false;     ///< of `list`: how many ids there are
  bool markdown = false;  ///< of `list`: its tables, or one of cases, in Markdown
  bool json = false;      ///< of `list`: machine-readable
  bool as_level = false;  ///< of `list`: as a file for expected/levels/
  bool missing = false;   ///< of `coverage`: name every overload that was not judged
  bool opinfo = false;    ///< of `coverage`: names of the OpInfo database, too
  bool unswept = false;   ///< of `list`: operators that no sweep takes
  bool quick = false;     ///< of `doctor`: start no worker
};

/// Reads the command line and the environment.
Options parse_options(int argc, const char* const* argv);

/// The options that a run was begun with, from the arguments in its log and the directory where
/// they were given: relative paths of files to read begin there.
Options parse_options(const std::vector<std::string>& arguments,
                      const std::filesystem::path& directory);

/// Whether the words after a command are SELECT: those of others are files, or nothing.
bool selects(const std::string& command);

/// Whether a command executes and judges what is selected: `run`, `pack` and `replay`.
bool executes(const std::string& command);

/// The words for which a text of Options::select stands, or null: it stands for itself.
const FollowingWords* following_words(const Options& options, const std::string& text);

/// The flags of the reports that have standard output to themselves, as with `--junit -`; at most
/// one after parse_options.
std::vector<std::string> on_standard_output(const Options& options);

}  // namespace lockstep
