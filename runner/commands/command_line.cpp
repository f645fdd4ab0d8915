#include "commands/command_line.h"

#include <fmt/format.h>

#include "commands/flags.h"
#include "plan/filter.h"

namespace lockstep {
namespace {

constexpr const char* kAbout =
    "Lockstep asks of a PyTorch compiler: does the compiled program still compute what eager "
    "computes?\n";

constexpr const char* kStatuses =
    "\nExit status: 0 as expected, 1 verdicts fail, 2 wrong usage or an invalid file, 3 internal "
    "or no usable\n"
    "worker, 4 nothing selected (each term means something, but not together), 130 interrupted.\n";

constexpr const char* kEnvironment =
    "Environment (flags come first):\n"
    "  LOCKSTEP_HOME     Lockstep's own folder, which holds cases/, expected/ and runner/\n"
    "  LOCKSTEP_CACHE    where environments, builds, compiled kernels and runs live\n"
    "  LOCKSTEP_TORCH    a torch release that ci/lockstep is to provide\n"
    "  LOCKSTEP_PYTHON   an interpreter that has a torch\n"
    "  LOCKSTEP_EAGER    another executable of the eager worker\n"
    "  LOCKSTEP_CUDART   another CUDA runtime (libcudart.so) that tells of devices\n"
    "  LOCKSTEP_DASK     an interpreter that has Dask, for run --on\n"
    "  LOCKSTEP_DIGESTS  KIND=FILE, what digests tensors on devices of a kind\n"
    "  CXX               the compiler that Inductor uses\n"
    "  NO_COLOR          no colours; CLICOLOR_FORCE: colours everywhere\n";

const std::vector<std::string> kColors = {"auto", "always", "never"};
const std::vector<std::string> kShells = {"bash", "zsh", "fish"};

void add_completion(CLI::App& app, Options& options) {
  CLI::App* completion = app.add_subcommand(
      "completion", "Print what a shell needs to complete commands, options, paths and ids");
  completion->add_option("SHELL", options.select, "bash, zsh or fish")
      ->required()
      ->expected(1)
      ->check(CLI::IsMember(kShells));
  app.add_subcommand("man", "Print the manual page: lockstep man | man -l -");
}

void add_doctor(CLI::App& app, Options& options) {
  CLI::App* doctor = app.add_subcommand(
      "doctor", "Say what a run would find on this machine, and the remedy where it lacks");
  doctor->add_flag("--quick", options.quick, "Start no worker: say only what shows from outside");
  add_path_files(doctor, options);
  add_libraries(doctor, options);
}

OptionFacts facts_of(const CLI::Option& option) {
  OptionFacts facts;
  facts.positional = option.get_positional();
  if (facts.positional) {
    facts.names = {option.get_name(true)};
  } else {
    for (const std::string& name : option.get_snames()) facts.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) facts.names.push_back("--" + name);
  }
  if (option.get_items_expected_max() > 0 && !facts.positional)
    facts.value = option.get_type_name().substr(0, option.get_type_name().find(':'));
  if (facts.names.back() == "--color") facts.choices = kColors;
  if (facts.names.front() == "SHELL") facts.choices = kShells;
  facts.help = option.get_description();
  return facts;
}

CommandFacts facts_of(const CLI::App& app, std::string name) {
  CommandFacts facts{std::move(name), app.get_description(), {}};
  for (const CLI::Option* option : app.get_options()) facts.options.push_back(facts_of(*option));
  return facts;
}

}  // namespace

void add_commands(CLI::App& app, Options& options) {
  app.name("lockstep");
  app.description(kAbout);
  app.set_version_flag("--version", std::string("lockstep ") + LOCKSTEP_VERSION,
                       "Print the version");
  app.add_option("--suite", options.suite,
                 "The folder of a suite of your own: cases/, and where you want them expected/ and "
                 "paths/ (default: Lockstep's)")
      ->type_name("DIR");
  app.add_option("--color", options.color, "Colours in the output: auto, always or never")
      ->capture_default_str()
      ->check(CLI::IsMember(kColors))
      ->type_name("WHEN");
  app.footer(kEnvironment);
  app.require_subcommand(1);
  app.fallthrough();
  add_run(app, options);
  add_pack(app, options);
  add_replay(app, options);
  add_serve(app);
  add_list(app, options);
  add_show(app, options);
  add_repro(app, options);
  add_explain(app, options);
  add_shrink(app, options);
  add_findings(app, options);
  add_coverage(app, options);
  add_new(app, options);
  add_completion(app, options);
  add_check(app, options);
  add_report(app, options);
  add_merge(app, options);
  add_gate(app, options);
  add_certify(app, options);
  add_verify(app, options);
  add_doctor(app, options);
}

std::vector<CommandFacts> command_facts() {
  Options unused;
  CLI::App app;
  add_commands(app, unused);
  std::vector<CommandFacts> facts = {facts_of(app, "")};
  for (const CLI::App* command : app.get_subcommands({}))
    facts.push_back(facts_of(*command, command->get_name()));
  return facts;
}

std::string environment_help() { return kEnvironment; }

std::string selection_help() { return "\n" + filter_help() + kStatuses; }

}  // namespace lockstep
