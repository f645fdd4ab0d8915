#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "record/reporter.h"
#include "requests/failure.h"
#include "requests/open.h"
#include "requests/requests.h"
#include "requests/selection.h"
#include "run/pack.h"
#include "run/run.h"
#include "run/session.h"

namespace lockstep {

/// A request that can be executed: the workers are there, and it is known what they will do.
struct Prepared {
  RunRequest request;              ///< settled (settle.h), of a resumed run that of its log
  std::vector<std::string> words;  ///< the command line that asks the same
  std::unique_ptr<Session> session;
  Selection selection;
  Plan plan;
  RunSettings settings;
  bool asks_of_few = false;                   ///< a few instances, by their ids
  std::optional<std::filesystem::path> pack;  ///< where a pack goes
};

/// Opens the suite, starts the workers and makes the plan.  `session`: one that is open already,
/// with the settings of the request.
Answer<Prepared> prepare(const RunRequest& request, const Means& means = {},
                         std::unique_ptr<Session> session = nullptr);
Answer<Prepared> prepare(const PackRequest& request, const Means& means = {});
Answer<Prepared> prepare(const ReplayRequest& request, const Means& means = {});
Answer<Prepared> prepare(const MemberRequest& request, const Means& means = {});

/// Executes it: the log is in the directory of the settings.  What was interrupted is no failure;
/// `latest` points at a new directory of the cache.
Answer<RunRecord> execute(Prepared& prepared, Reporter& reporter);

}  // namespace lockstep
