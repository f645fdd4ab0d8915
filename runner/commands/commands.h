#pragma once

#include "commands/options.h"
#include "requests/failure.h"

namespace lockstep {

/// The subcommands.  Each prints to standard output and standard error and gives the exit status.
Exit command_run(const RunRequest& request);
Exit command_pack(const PackRequest& request);
Exit command_replay(const ReplayRequest& request);
Exit command_serve(const ServeOptions& options);
Exit command_list(const ListOptions& options);
Exit command_show(const ShowOptions& options);
Exit command_check(const CheckOptions& options);
Exit command_report(const ReportOptions& options);
Exit command_warm(const WarmOptions& options);
Exit command_doctor(const DoctorOptions& options);
Exit command_repro(const ReproOptions& options);
Exit command_explain(const ExplainingOptions& options);
Exit command_shrink(const ShrinkOptions& options);
Exit command_capture(const CaptureOptions& options);
Exit command_completion(const CompletionOptions& options);
Exit command_man(const ManOptions& options);
Exit command_new(const NewOptions& options);
Exit command_findings(const FindingsOptions& options);
Exit command_coverage(const CoverageOptions& options);
Exit command_merge(const MergeOptions& options);
Exit command_gate(const GateOptions& options);
Exit command_history(const HistoryOptions& options);
Exit command_bisect(const BisectOptions& options);
Exit command_certify(const CertifyRequest& request);
Exit command_verify(const VerifyRequest& request);

}  // namespace lockstep
