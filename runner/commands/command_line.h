#pragma once

#include <string>
#include <vector>

namespace lockstep {

/// An option or a positional argument as --help has it.
struct OptionFacts {
  std::vector<std::string> names;    ///< "-j", "--jobs"; of a positional argument its name alone
  std::string value;                 ///< "FILE"; empty where it takes none
  std::vector<std::string> choices;  ///< all that the value can be; empty: anything
  std::string help;
  bool positional = false;
};

/// A subcommand, or with an empty name what all have in common.
struct CommandFacts {
  std::string name, about;
  std::vector<OptionFacts> options;
};

/// The whole command line, for completions and the manual page; the common part first.
std::vector<CommandFacts> command_facts();

/// What --help says behind the options of all commands.
std::string environment_help();

}  // namespace lockstep
