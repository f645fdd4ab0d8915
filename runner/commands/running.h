#pragma once

#include <memory>

#include "record/record.h"
#include "requests/failure.h"
#include "requests/prepare.h"

namespace lockstep {

/// A run that the console told of, with everything that it leaves written.
struct ConsoleRun {
  RunRecord record;
  Exit exit = Exit::ok;
};

/// Executes a prepared run, reports on it, and writes the files asked for. Explains failures, and
/// packs, if asked.
Answer<ConsoleRun> run_on_console(Prepared& prepared);

/// Prepares and executes a run for another request; how it ends is no matter.
Answer<RunRecord> carry_out_on_console(const RunRequest& request, std::unique_ptr<Session> session);

/// What hears notes of a run that has not begun.
Means console_means(const Reporting& reporting, const Surroundings& at);

}  // namespace lockstep
