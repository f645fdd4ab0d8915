#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "cases/suite.h"
#include "run/session_settings.h"

namespace lockstep {

/// The public functions that steps `call`, by the file whose steps these are.
using CalledFunctions = std::map<const CaseFile*, std::set<std::string>>;

/// Notes what an instance of a file calls; nothing of a case that demands another torch, which may
/// have what this one lacks.
void note_functions(const CaseFile& file, const Case& declared, CalledFunctions& called);

/// Asks the Python worker for every function: one that torch lacks, or that no worker calls, is an
/// error of its file.  Starts no worker where nothing is called.  The result has a line where it
/// cannot be asked.
std::vector<std::string> check_functions(const SessionSettings& settings,
                                         const CalledFunctions& called, Diagnostics& diagnostics);

}  // namespace lockstep
