#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "commands/options.h"
#include "explain/explain.h"
#include "plan/plan.h"
#include "record/record.h"
#include "run/session.h"

namespace lockstep {

/// The knobs that Lockstep has, and those of the user.  Errors are printed.
std::optional<KnobTable> knobs_of(const Options& options);

/// Who did it, of one item of a plan; after the deadline nothing new is begun.
Result<Explanation> explanation_of(const PlanItem& item, const Plan& plan, Session& session,
                                   const KnobTable& table, Trials::Clock::time_point deadline);

/// `run --explain`: explains what fails, one verdict of each cause first, until the seconds are
/// over or somebody interrupts; adds what is found to the record and to its log, behind the end,
/// and hands each sentence to `note`.
Result<void> explain_failing(RunRecord& record, const std::filesystem::path& directory,
                             const Plan& plan, Session& session, const KnobTable& table,
                             const Options& options,
                             const std::function<void(const std::string&)>& note);

}  // namespace lockstep
