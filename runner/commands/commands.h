#pragma once

#include "commands/options.h"

namespace lockstep {

/// The subcommands.  Each prints to standard output and standard error and gives the exit status.
Exit command_run(const Options& options);  ///< and `pack`, `replay` and `serve`, which are runs
Exit command_list(const Options& options);
Exit command_show(const Options& options);
Exit command_check(const Options& options);
Exit command_report(const Options& options);
Exit command_doctor(const Options& options);
Exit command_repro(const Options& options);
Exit command_explain(const Options& options);
Exit command_shrink(const Options& options);
Exit command_completion(const Options& options);
Exit command_man(const Options& options);
Exit command_new(const Options& options);
Exit command_findings(const Options& options);
Exit command_coverage(const Options& options);
Exit command_merge(const Options& options);
Exit command_gate(const Options& options);
Exit command_certify(const Options& options);
Exit command_verify(const Options& options);

}  // namespace lockstep
