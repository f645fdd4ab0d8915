#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "requests/flags.h"
#include "requests/requests.h"

// What the subcommands take that are no runs.
namespace lockstep {

struct ListOptions {
  Basis basis;
  /// What to print instead of ids, by its flag: "paths", "levels", "policies", "statuses".
  std::vector<std::string> words;
  bool count = false;     ///< how many ids there are
  bool markdown = false;  ///< its tables, or one of cases, in Markdown
  bool json = false;
  bool as_level = false;  ///< as a file for expected/levels/
  bool unswept = false;   ///< operators that no sweep takes
};
void add_flags(Flags& flags, ListOptions& options);

struct ShowOptions {
  Basis basis;
};
void add_flags(Flags& flags, ShowOptions& options);

struct ReproOptions {
  Basis basis;
  bool brief = false;         ///< the few lines for a report
  std::filesystem::path out;  ///< empty: standard output
};
void add_flags(Flags& flags, ReproOptions& options);

struct ExplainingOptions {
  Basis basis;
  double seconds = 300;         ///< after which nothing new is begun
  std::filesystem::path knobs;  ///< settings to try besides; absolute, or empty
  bool json = false;
  std::filesystem::path out;  ///< empty: standard output
};
void add_flags(Flags& flags, ExplainingOptions& options);

struct ShrinkOptions {
  Basis basis;
  double seconds = 300;         ///< after which nothing new is begun
  bool same_operators = false;  ///< keep those that `explain` accuses
  bool allow_drift = false;     ///< take what diverges otherwise, too
  std::filesystem::path out;    ///< empty: standard output
};
void add_flags(Flags& flags, ShrinkOptions& options);

struct CaptureOptions {
  Basis basis;
  std::vector<std::string> program;  ///< the Python file and its arguments
  std::string out, name;             ///< empty: by the name of the program
  double seconds = 600;              ///< that the program may run
  bool exact_values = false;         ///< also where fills would do
  bool as_shown = false;             ///< compare as strictly as the program shows a difference
  bool calls = false;                ///< every distinct call of an operator, instead of graphs
  bool json = false;                 ///< say what was captured as JSON
};
void add_flags(Flags& flags, CaptureOptions& options);

struct FindingsOptions {
  Basis basis;
  std::filesystem::path out;  ///< empty: standard output
};
void add_flags(Flags& flags, FindingsOptions& options);

struct CoverageOptions {
  Basis basis;
  std::vector<std::filesystem::path> logs;  ///< none: the latest
  bool missing = false;                     ///< name every overload that was not judged
  bool opinfo = false;                      ///< names of the OpInfo database, too
  bool json = false;
  std::filesystem::path out;  ///< empty: standard output
};
void add_flags(Flags& flags, CoverageOptions& options);

struct NewOptions {
  Basis basis;
  std::string report;         ///< its number, with or without a name, or its address
  std::string like, op;       ///< the case or the operator that it begins with
  std::filesystem::path out;  ///< empty: in cases/bugs/ of the suite
};
void add_flags(Flags& flags, NewOptions& options);

struct CompletionOptions {
  Basis basis;
  std::string shell;
};
void add_flags(Flags& flags, CompletionOptions& options);

struct ManOptions {
  Basis basis;
};
void add_flags(Flags& flags, ManOptions& options);

struct CheckOptions {
  Basis basis;
  std::vector<std::string> files;  ///< none: the whole suite
};
void add_flags(Flags& flags, CheckOptions& options);

struct ReportOptions {
  Basis basis;
  Reporting reporting;
  std::vector<std::filesystem::path> logs;    ///< one, or none: the latest
  std::filesystem::path out;                  ///< empty: beside the log
  bool fingerprints = false, ladder = false;  ///< list them
  bool operators = false;                     ///< how much conforms by operator and dtype
  bool tolerated = false;                     ///< what conforms though it differs
  bool relations = false;                     ///< who keeps the relations that were asked
};
void add_flags(Flags& flags, ReportOptions& options);

struct MergeOptions {
  Basis basis;
  Reporting reporting;
  std::vector<std::filesystem::path> shards;
  std::filesystem::path out;  ///< empty: a new directory in the cache
};
void add_flags(Flags& flags, MergeOptions& options);

struct GateOptions {
  Basis basis;
  /// The two runs: logs, or torches by which they are made; `later` empty: the latest run.
  std::string old, later;
  std::filesystem::path out;  ///< of runs that are made; empty: by what is chosen, in the cache
  std::string index;          ///< the package index of torches; empty: pip's own
  std::vector<std::string> fail_on;          ///< transitions and names of sets; none: the default
  std::vector<std::filesystem::path> allow;  ///< absolute
  bool eager = false;                        ///< compare eager with eager, too
  bool strict = false;                       ///< refuse runs that are not alike
  /// To explain what closes the gate, where the later run is made here.
  double explain_seconds = 300;
  std::filesystem::path junit, html, json, summary;
  bool verbose = false;
};
void add_flags(Flags& flags, GateOptions& options);

struct HistoryOptions {
  Basis basis;
  /// Directories of runs, logs, and folders of logs; none: the store alone.
  std::vector<std::filesystem::path> runs;
  std::filesystem::path store;  ///< to which they are added, and which is shown; or empty
  int keep_days = 0;            ///< of a store; 0: everything stays
  std::filesystem::path html, json;
  bool verbose = false;
};
void add_flags(Flags& flags, HistoryOptions& options);

struct BisectOptions {
  Basis basis;  ///< its choice: what shows the fingerprint; none: as an earlier run has it
  std::string fingerprint, good, bad;
  std::string index;  ///< the package index of torches; empty: pip's own
};
void add_flags(Flags& flags, BisectOptions& options);

struct DoctorOptions {
  Basis basis;
  bool deep = false;  ///< build what is missing, and try every path
};
void add_flags(Flags& flags, DoctorOptions& options);

struct WarmOptions {
  Basis basis;
  bool stop = false;
  double idle = 600;  ///< seconds without a worker after which a resident one ends
};
void add_flags(Flags& flags, WarmOptions& options);

/// `serve`, which is told everything on standard input.
struct ServeOptions {
  Basis basis;
};
void add_flags(Flags& flags, ServeOptions& options);

}  // namespace lockstep
