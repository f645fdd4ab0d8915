#pragma once

#include "plan/plan.h"
#include "record/record.h"
#include "requests/failure.h"
#include "requests/requests.h"
#include "run/pack.h"
#include "run/session.h"

namespace lockstep {

// What `pack` and `replay` do besides a run.

/// The names of the paths that make packages, without variants: what is packed where nobody names a
/// path.
std::vector<std::string> packaging_paths(const std::vector<Path>& paths);

/// Refuses a plan with paths that make no packages.
Answer<void> check_packable(const Plan& plan);

/// After a run with SessionSettings::save_jobs: takes what can be repeated without Python into the
/// pack in `folder`, with the cases, paths and expectations that judging it takes.
Answer<PackInfo> end_packing(const std::filesystem::path& folder,
                             const std::vector<std::string>& arguments, const Session& session,
                             const Plan& plan, const RunRecord& record);

/// Before a session is opened: checks the pack and makes it the suite.
Answer<PackInfo> open_pack(ReplayRequest& request);

/// Keeps of a plan what the pack has.
void keep_packed(Plan& plan, const PackInfo& pack);

/// Warns if torch or the CPU level is not that of the pack.
std::string difference_of(const PackInfo& pack, const Json& environment);

}  // namespace lockstep
