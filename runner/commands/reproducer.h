#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "plan/plan.h"
#include "run/session_settings.h"
#include "verdict/verdict.h"

namespace lockstep {

/// An item of a plan as a Python script without Lockstep: the whole one, which judges and is fit
/// for `git bisect run`. `recorded` is the verdict that it is made from; null: none is known.
/// `scratch` is an empty folder. Inputs that are too long for a text go to `beside`, a folder,
/// where there is one; the script then finds them in a folder kValuesFolder beside it. The error
/// says what the Python worker could not render, and why.
Result<std::string> script_of(const Plan& plan, const PlanItem& item,
                              const SessionSettings& settings, const std::filesystem::path& scratch,
                              const std::filesystem::path& beside,
                              const Verdict* recorded = nullptr);

/// The few lines of each item, by one process; of an item that needs more than a few lines, what it
/// needs.
Result<std::vector<Result<std::string>>> brief_scripts_of(const Plan& plan,
                                                          const std::vector<const PlanItem*>& items,
                                                          const SessionSettings& settings,
                                                          const std::filesystem::path& scratch);

}  // namespace lockstep
