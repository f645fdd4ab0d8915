#pragma once

#include "commands/options.h"
#include "plan/plan.h"
#include "record/record.h"
#include "run/pack.h"
#include "run/session.h"

namespace lockstep {

// What `pack` and `replay` do besides a run.  Errors are printed; then the result is the exit
// status to end with.

/// Before a session is opened: makes the folder of the pack, and has every instance get a package
/// of its own.
tl::expected<void, Exit> begin_packing(Options& options);

/// The names of the paths that make packages, without variants: what is packed where nobody names a
/// path.
std::vector<std::string> packaging_paths(const std::vector<Path>& paths);

/// Says of a plan with paths that make no packages that it cannot be packed.
tl::expected<void, Exit> check_packable(const Plan& plan);

/// After a run with SessionSettings::keep: takes what can be repeated without Python into the pack,
/// with the cases, paths and expectations that judging it takes, and says what was left out.
tl::expected<void, Exit> end_packing(const Options& options, const Session& session,
                                     const Plan& plan, const RunRecord& record);

/// Before a session is opened: checks the pack and makes it the suite.
tl::expected<PackInfo, Exit> open_pack(Options& options);

/// Keeps of a plan what the pack has.
void keep_packed(Plan& plan, const PackInfo& pack);

/// Where torch or the CPU's level are others than those that the pack was made with, says so.
std::string difference_of(const PackInfo& pack, const Json& environment);

}  // namespace lockstep
