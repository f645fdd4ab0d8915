#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_lines.h"
#include "run/session_settings.h"

// What can be asked of Lockstep.  A request is built by hand, decoded from a command line, a log or
// a message (decode.h), and printed as a command line; prepare.h meets it.
namespace lockstep {

/// Where a request was made, and what is found there.
struct Surroundings {
  std::filesystem::path directory;  ///< names of files begin there
  std::filesystem::path home;       ///< LOCKSTEP_HOME: where runner/paths and runner/workers are
  std::filesystem::path suite;      ///< --suite, or home: where cases/ and expected/ are
  bool own_suite = false;           ///< it was named, so that a command line names it, too
  std::filesystem::path cache;      ///< LOCKSTEP_CACHE, or home/.lockstep
  std::filesystem::path runs;  ///< of runs: .lockstep/runs of `directory` if there is one, else of
                               ///< the cache
  std::string python = "python3";        ///< LOCKSTEP_PYTHON
  std::string launcher = "ci/lockstep";  ///< LOCKSTEP_COMMAND: how people call Lockstep
  /// LOCKSTEP_EAGER: the executable of the eager worker; empty: lockstep-eager beside the binary.
  std::filesystem::path eager;
  /// LOCKSTEP_PROVIDER: a Python file that makes `eager` where it is not there yet, and prints
  /// where it is; empty: nobody does.
  std::filesystem::path provider;
  /// Where resident workers listen (engine/warm.h); empty: none may stand in for a worker, as with
  /// CI set.
  std::filesystem::path residents;
  std::string cudart;  ///< LOCKSTEP_CUDART: the CUDA runtime that tells of devices
  /// LOCKSTEP_DIGESTS: "cpu=FILE:cuda=FILE", shared objects that digest storages on devices of that
  /// kind (docs/start/gpu.md), besides the one for CUDA beside the binary.
  std::string digests;
  std::string color = "auto";  ///< auto, always, never
  bool in_github = false;      ///< a job of GitHub's
};

/// What is chosen of a suite.
struct Choice {
  /// Filter terms, and names of case files and folders (own_cases.h).
  std::vector<std::string> select;
  /// Words behind the value of each --path, or of each --device: names or globs of such as long as
  /// they mean one, then SELECT.  What paths there are is not known when they are decoded.
  std::vector<std::vector<std::string>> after_paths, after_devices;
  std::string level;  ///< empty: `smoke` where nothing is selected
  std::vector<std::string> paths, devices;
  std::filesystem::path from;  ///< the log that terms about verdicts read; empty: the latest
  bool ladder = false;         ///< take every layer, or those below the paths that are asked for
  bool relations = false;      ///< ask of every case what its results keep (cases/relations.h)
};

/// The basis of every request: the place, the suite, the selection, the pace.
struct Basis {
  Surroundings at;
  OwnFiles files;
  Choice choice;
  Pace pace;
  bool no_cache = false;  ///< Inductor's caches live as long as the run
};

/// Which reports a run writes besides those in its directory, and what fails it.
struct Reporting {
  bool strict = false;
  /// The percentage that must be judged; empty: the default of record/judged.h.
  std::optional<double> min_judged;
  bool verbose = false, quiet = false;
  bool github = false;  ///< annotations, and the summary on the job's page
  /// Single reports, by the flags of their formats (report_formats.h); "-" is standard output.
  std::map<std::string, std::filesystem::path> files;
  /// Where to propose expectations for new divergences: a file, "-" for standard output, "default"
  /// for expected/known/proposed.json; empty: nowhere.
  std::string update_known;
  bool accept_crashes = false;  ///< propose them for crashes, time-outs and memory, too
};

/// `run`: execute what is chosen, and judge it.
struct RunRequest {
  Basis basis;
  Reporting reporting;
  std::filesystem::path out;     ///< the directory of the run; empty: a new one in the cache
  std::filesystem::path resume;  ///< that of a run that is gone on with, with what it was asked
  std::string on;                ///< the cluster that executes; empty or "local": none
  std::string shard;             ///< "2/5" or "auto"; empty: the whole run
  /// The log whose seconds balance the shards, or the machines of a cluster; absolute, or empty.
  std::filesystem::path durations;
  bool save_tensors = false;    ///< the tensors of outputs that do not conform
  std::size_t max_fail = 0;     ///< stop after so many failing verdicts; 0: never
  int repeat = 1;               ///< executions of every item on its path
  double repeat_percent = 100;  ///< percent of the verdicts that `repeat` is about
  std::string repeat_seed;      ///< which these are; a whole number, or empty: by chance
  /// From what these follow instead, with torch and the packages of the paths (seed_by_packages);
  /// empty: from nothing.  `certify` says it, and no flag.
  std::string repeat_by;
  /// Of inputs that nobody has seen, for paths that are not torch's own: a whole number, "none", or
  /// empty: by chance with --strict, else none.
  std::string fresh_seed;
  bool ignore_declared = false;  ///< execute what a path declares not to support
  int retries = 0;               ///< executions more of what would fail the run, until it does not
  /// Explain what fails, and begin nothing new of that after so many seconds; 0: do not.
  double explain_seconds = 0;
  bool reuse = false;   ///< take verdicts of earlier runs where nothing has changed
  std::string shuffle;  ///< a whole number as seed, "random", or empty: the order of the suite
  bool alone = false;   ///< share no compilation
};

/// `pack`: a run on a path that makes packages, which are written for `replay`.
struct PackRequest {
  std::filesystem::path folder;  ///< empty or not there
  RunRequest run;
};

/// `replay`: a run that executes what `pack` wrote.
struct ReplayRequest {
  std::filesystem::path folder;
  RunRequest run;
};

/// `serve`: parts of another Lockstep's run, as it is told.
struct MemberRequest {
  RunRequest run;  ///< that of the other one, without what is its business alone
  std::shared_ptr<JsonLines> requests;
  int log_to = -1;  ///< the descriptor to which the log goes
  Json alike;       ///< what the other one runs on, `run` and `environment` as its log says it
};

/// What a vendor shows of a certificate.
struct Showing {
  std::filesystem::path page, badge;
};

/// `certify`: run a frozen level on a path, and make the archive that proves that it conforms.
struct CertifyRequest {
  Basis basis;                                 ///< its choice: level, one path, at most one device
  std::vector<std::filesystem::path> waivers;  ///< absolute
  std::filesystem::path out;                   ///< the archive; empty: PATH-LEVEL.tar
  std::filesystem::path run_folder;  ///< of its run; what is there is gone on with, or taken
  std::filesystem::path draft;       ///< where to write what the path could declare; empty: nowhere
  Showing showing;
};

/// `verify`: check an archive of `certify`.
struct VerifyRequest {
  Basis basis;
  std::filesystem::path archive;
  double sample = 0;  ///< percent of the verdicts that are executed again
  std::string seed;   ///< draws these; empty: by chance
  Showing showing;
};

/// The basis of a request, also if the request holds a run.
template <class Request>
auto& basis_of(Request& request) {
  if constexpr (requires { request.run; })
    return request.run.basis;
  else
    return request.basis;
}

}  // namespace lockstep
