#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "cases/suite.h"
#include "run/session_settings.h"

namespace lockstep {

/// Asks the Python worker for every public function that steps `call`: one that torch lacks, or
/// that no worker calls, is an error of its file; but of a case that demands another torch.  Starts
/// no worker where nothing is called.  The result has a line where it cannot be asked.
std::vector<std::string> check_functions(const SessionSettings& settings,
                                         const std::vector<CaseFile>& files,
                                         const Registry* registry, const PythonOperators* python,
                                         Diagnostics& diagnostics);

}  // namespace lockstep
