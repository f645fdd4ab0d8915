#pragma once

#include <map>
#include <string>
#include <vector>

#include "cases/registry.h"
#include "cases/suite.h"
#include "commands/options.h"
#include "expectations/expectations.h"
#include "paths/path.h"
#include "plan/names.h"
#include "plan/plan.h"

namespace lockstep {

/// The suite and what belongs to it, read and checked.
struct Home {
  std::vector<CaseFile> suite;  ///< sweeps expanded over the registry
  std::vector<Path> paths;
  KnownNames names;  ///< of paths and devices
  std::vector<Expectation> expectations;
  std::optional<Registry> registry;  ///< see read_registry
  std::string digest;                ///< of cases, paths, expectations and --library
};

/// Reads the files alone: cases, sweeps not expanded, paths and expectations, each checked by
/// itself and for names of paths and devices that there are.  What is wrong is added to
/// `diagnostics`; an error where there is no suite.
Result<Home> read_files(const Options& options, Diagnostics& diagnostics);

/// Reads all of it.  Every file's errors are printed to standard error; then the result is the exit
/// status to end with.
tl::expected<Home, Exit> read_home(const Options& options);

/// Prints diagnostics to standard error, in the order of files and places, and how many there are.
void print_diagnostics(const Diagnostics& diagnostics);

/// Prints an error to standard error as every command does.
void print_error(const Error& error);

/// A file beside the running binary: lockstep-eager, schemas.json.
std::filesystem::path beside_binary(std::string_view name);

/// The executable of the eager worker.
std::filesystem::path eager_executable(const Options& options);

/// What an earlier run says of each verdict, for `status:` terms: status, standing, `failing`.
using EarlierStatuses = std::map<std::string, std::vector<std::string>>;

/// Read from --from or the latest log where the filter asks for statuses; else empty.
tl::expected<EarlierStatuses, Exit> earlier_statuses(const Options& options, const Filter& filter);

/// The operators: the dump beside the binary, which is absent when nothing was built with torch;
/// or, with --library, what lockstep-eager dumps after it has loaded those.  Errors are printed.
tl::expected<std::optional<Registry>, Exit> read_registry(const Options& options);

/// What lockstep-eager dumps now, with the libraries of the command line.
Result<Registry> dump_registry(const Options& options);

/// The filter that the command line means: SELECT, --path and --device, of what the level takes,
/// which is `smoke` where nothing is selected.  `level` gets its name, or stays empty.  A path that
/// is none of `paths` is an error.
tl::expected<Filter, Exit> selection(const Options& options, const std::vector<Path>& paths,
                                     std::string& level);

/// What `list`, `show` and `repro` plan from, where no worker says which devices there are.
PlanRequest offline_request(const Home& home, const Options& options, const Filter& filter);

/// Says that nothing was selected, with the nearest id, and gives the exit status.
Exit nothing_selected(const PlanRequest& request);

}  // namespace lockstep
