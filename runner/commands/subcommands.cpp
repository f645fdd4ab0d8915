#include "commands/commands.h"
#include "commands/subcommand.h"

namespace lockstep {
namespace {

template <class Request, Exit (*function)(const Request&)>
class AskedOf : public Asked {
 public:
  void add_flags(Flags& flags) override { lockstep::add_flags(flags, request_); }
  Basis& basis() override { return basis_of(request_); }
  Exit meet() const override { return function(request_); }

 private:
  Request request_;
};

/// What a row has of the request of a function.
template <class Request, Exit (*function)(const Request&)>
std::unique_ptr<Asked> ask() {
  return std::make_unique<AskedOf<Request, function>>();
}

const Subcommand kSubcommands[] = {
    {"run", "Execute cases, judge them and write the reports", ask<RunRequest, command_run>},
    {"pack", "Run cases on a path that makes packages, and write these for `replay`",
     ask<PackRequest, command_pack>},
    {"replay", "Execute and judge the packages that `pack` wrote, without Python",
     ask<ReplayRequest, command_replay>},
    {"serve",
     "Execute parts of another Lockstep's run as standard input says, and write the log to "
     "standard output: what `run --on` starts on other machines",
     ask<ServeOptions, command_serve>},
    {"list", "Print the ids that SELECT takes; needs no torch", ask<ListOptions, command_list>},
    {"show", "Print cases as readable programs, with inputs as numbers",
     ask<ShowOptions, command_show>},
    {"repro", "Print one instance as a Python script that needs torch and nothing of Lockstep",
     ask<ReproOptions, command_repro>},
    {"explain", "Say who did it: the layer, the operator, the setting that ends it, the numbers",
     ask<ExplainingOptions, command_explain>},
    {"shrink", "Make a case smaller as long as it diverges in the same way, and print its script",
     ask<ShrinkOptions, command_shrink>},
    {"findings", "Write what is known of compilers but reported nowhere, as text ready to be filed",
     ask<FindingsOptions, command_findings>},
    {"coverage",
     "Say which overloads of the torch at hand a run executed and judged, and why not the others",
     ask<CoverageOptions, command_coverage>},
    {"new", "Write a case to begin with for a report: its link, inputs and steps to fill in",
     ask<NewOptions, command_new>},
    {"completion", "Print what a shell needs to complete commands, options, paths and ids",
     ask<CompletionOptions, command_completion>},
    {"man", "Print the manual page: lockstep man | man -l -", ask<ManOptions, command_man>},
    {"check", "Validate cases, expectations, paths and levels; needs no torch at run time",
     ask<CheckOptions, command_check>},
    {"report", "Write the reports of a run again from its log", ask<ReportOptions, command_report>},
    {"merge", "Put the shards of a run together, and write its log and reports",
     ask<MergeOptions, command_merge>},
    {"gate", "Say what became of each verdict from one run to another, and whether that may be",
     ask<GateOptions, command_gate>},
    {"certify", "Run a frozen level on a path, and write the archive that proves that it conforms",
     ask<CertifyRequest, command_certify>},
    {"verify", "Check an archive of `certify`: digests, completeness, statuses, what it states",
     ask<VerifyRequest, command_verify>},
    {"doctor", "Say what a run would find on this machine, and the remedy where it lacks",
     ask<DoctorOptions, command_doctor>},
};

}  // namespace

std::span<const Subcommand> subcommands() { return kSubcommands; }

}  // namespace lockstep
