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

const CommandExample kGeneral[] = {
    {"lockstep doctor", "is everything here that a run needs?"},
    {"lockstep run", "judge torch.compile on a set of small programs"},
    {"lockstep gate --baseline old new", "compare two runs"},
};

const Subcommand kSubcommands[] = {
    {"run",
     "Execute cases, judge them and write the reports",
     {{"lockstep run", "the level `smoke` on the default paths"},
      {"lockstep run 'bugs/*' --path inductor", "some cases on one path"},
      {"lockstep run model.py", "what a Python program compiles"}},
     ask<RunRequest, command_run>},
    {"pack",
     "Run cases on a path that makes packages, and write the packages for `replay`",
     {{"lockstep pack DIR", "the level `smoke`, as packages in DIR"},
      {"lockstep pack DIR 'bugs/*'", "some cases"},
      {"lockstep pack DIR --level core", "the level `core`"}},
     ask<PackRequest, command_pack>},
    {"replay",
     "Execute and judge the packages that `pack` wrote, without Python",
     {{"lockstep replay DIR", "all packages of DIR"},
      {"lockstep replay DIR 'bugs/*' --strict", "some of them; refusals fail, too"},
      {"lockstep replay DIR --junit junit.xml", "with a report for your CI"}},
     ask<ReplayRequest, command_replay>},
    {"serve",
     "Execute parts of a run for `lockstep run --on`, which starts this on other machines",
     {},
     ask<ServeOptions, command_serve>},
    {"list",
     "Print the ids that SELECT takes; needs no torch",
     {{"lockstep list softmax", "the ids that contain a word"},
      {"lockstep list --level core --count", "how many there are"},
      {"lockstep list --paths", "the paths"}},
     ask<ListOptions, command_list>},
    {"show",
     "Print cases as readable programs, with inputs as numbers",
     {{"lockstep show bugs/185337-half-round-trip", "one case"},
      {"lockstep show ./mine.json", "a case file of your own"},
      {"lockstep show status:failing", "what failed in the latest run"}},
     ask<ShowOptions, command_show>},
    {"repro",
     "Print one instance as a Python script that needs only torch",
     {{"lockstep repro bugs/185337-half-round-trip@cpu/inductor", "the script, on standard output"},
      {"lockstep repro ID@cpu/inductor --to repro.py", "the script, in a file"},
      {"lockstep repro ID@cpu/inductor --brief", "the few lines that fit into a report"}},
     ask<ReproOptions, command_repro>},
    {"explain",
     "Say who did it: the layer, the operator and the setting, with the numbers of each step",
     {{"lockstep explain bugs/185337-half-round-trip@cpu/inductor", "one verdict"},
      {"lockstep explain status:diverging --seconds 1800", "what diverged in the latest run"},
      {"lockstep explain model.py", "why a program differs when compiled"}},
     ask<ExplainingOptions, command_explain>},
    {"shrink",
     "Make a case smaller that still diverges in the same way, and print its script",
     {{"lockstep shrink ID@cpu/inductor --to small.json", "the smaller case, in a file"},
      {"lockstep shrink ID@cpu/inductor --same-operators",
       "keeps the operators that `explain` names"},
      {"lockstep shrink model.py", "what a Python program compiles"}},
     ask<ShrinkOptions, command_shrink>},
    {"capture",
     "Run a Python program, and write what it compiles as cases",
     {{"lockstep capture model.py", "into ./model-cases/"},
      {"lockstep capture --out DIR -- model.py --layers 2", "with arguments of the program"},
      {"lockstep capture --exact-values model.py", "with the program's own numbers"}},
     ask<CaptureOptions, command_capture>},
    {"findings",
     "Write known divergences that nobody has reported, as texts to file",
     {{"lockstep findings", "on standard output"},
      {"lockstep findings --to findings.md", "in a file"},
      {"lockstep findings --suite DIR", "of a suite of your own"}},
     ask<FindingsOptions, command_findings>},
    {"coverage",
     "Say which overloads of this torch a run judged, and why not the others",
     {{"lockstep coverage", "the latest run"},
      {"lockstep coverage LOG LOG2 --missing",
       "two runs together, with each overload that is missing"},
      {"lockstep coverage --json", "the same as JSON"}},
     ask<CoverageOptions, command_coverage>},
    {"new",
     "Write the beginning of a case for a report: link, inputs and steps to fill in",
     {{"lockstep new 185337", "a case with nothing in it yet"},
      {"lockstep new 185337 --op softmax.int", "one call of an operator"},
      {"lockstep new 185337 --like bugs/185337-half-round-trip", "the program of another case"}},
     ask<NewOptions, command_new>},
    {"completion",
     "Print a script by which your shell completes commands, options, paths and ids",
     {{"eval \"$(lockstep completion bash)\"", "in ~/.bashrc"},
      {"eval \"$(lockstep completion zsh)\"", "in ~/.zshrc"},
      {"lockstep completion fish | source", "in config.fish"}},
     ask<CompletionOptions, command_completion>},
    {"man",
     "Print the manual page",
     {{"lockstep man | man -l -", "read it"},
      {"lockstep man > lockstep.1", "install it where `man` looks"},
      {"lockstep man | man -t -l - > lockstep.ps", "print it"}},
     ask<ManOptions, command_man>},
    {"check",
     "Validate cases, expectations, paths and levels; needs no torch",
     {{"lockstep check", "the whole suite"},
      {"lockstep check ./mine.json", "one file"},
      {"lockstep check known.json --path-file mine.json",
       "expectations that name a path of your own"}},
     ask<CheckOptions, command_check>},
    {"report",
     "Write the reports of a run again from its log",
     {{"lockstep report", "the latest run"},
      {"lockstep report LOG --junit junit.xml", "one report, in a file of your choice"},
      {"lockstep report --fingerprints", "the latest run's failures by their names"}},
     ask<ReportOptions, command_report>},
    {"merge",
     "Put the shards of a run together, and write its log and reports",
     {{"lockstep merge shard-1 shard-2", "all shards of one run"},
      {"lockstep merge shard-* --out whole", "into a directory of your choice"},
      {"lockstep merge shard-* --junit junit.xml", "with a report for your CI"}},
     ask<MergeOptions, command_merge>},
    {"gate",
     "Say what changed from one run to another, and fail if something got worse",
     {{"lockstep gate --baseline old new", "two directories of runs"},
      {"lockstep gate --baseline old new --html gate.html", "with a page"},
      {"lockstep gate --baseline old --allow allowed.json",
       "the latest run; some changes may pass"}},
     ask<GateOptions, command_gate>},
    {"certify",
     "Run a frozen level on a path, and write an archive that proves that the path conforms",
     {{"lockstep certify --level smoke-1 --path inductor", "a path that Lockstep has"},
      {"lockstep certify --level smoke-1 --path mine --path-file mine.json", "a backend of yours"},
      {"lockstep certify --level smoke-1 --path inductor --page page.html",
       "with a page for your site"}},
     ask<CertifyRequest, command_certify>},
    {"verify",
     "Check an archive of `certify`: digests, completeness, statuses and statements",
     {{"lockstep verify mine-smoke-1.tar", "without executing anything"},
      {"lockstep verify mine-smoke-1.tar --sample 5%", "and execute a twentieth of it again"},
      {"lockstep verify mine-smoke-1.tar --badge badge.svg", "and write a badge"}},
     ask<VerifyRequest, command_verify>},
    {"doctor",
     "Say what a run would find on this machine, and how to get what is missing",
     {{"lockstep doctor", "in seconds"},
      {"lockstep doctor --deep", "builds what is missing, and tries every path"},
      {"lockstep doctor --path-file mine.json", "with a path of your own"}},
     ask<DoctorOptions, command_doctor>},
};

}  // namespace

std::span<const Subcommand> subcommands() { return kSubcommands; }

std::span<const CommandExample> general_examples() { return kGeneral; }

}  // namespace lockstep
