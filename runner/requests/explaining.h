#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "explain/explain.h"
#include "plan/plan.h"
#include "record/record.h"
#include "requests/failure.h"
#include "requests/prepare.h"
#include "run/session.h"

namespace lockstep {

/// The knobs that Lockstep has, and those of a file of the user's; empty: none.
Answer<KnobTable> read_knobs(const Surroundings& at, const std::filesystem::path& own = {});

/// Who did it, of one item of a plan; after the deadline nothing new is begun.
Result<Explanation> explanation_of(const PlanItem& item, const Plan& plan, Session& session,
                                   const KnobTable& table, Trials::Clock::time_point deadline);

/// `run --explain`: explains what fails, one verdict of each fingerprint first, until the seconds
/// of the request are over or somebody interrupts; adds what is found to the record and to its log,
/// behind the end, and hands each sentence to `note`.
Answer<void> explain_failing(RunRecord& record, Prepared& prepared, const KnobTable& table,
                             const std::function<void(const std::string&)>& note);

}  // namespace lockstep
