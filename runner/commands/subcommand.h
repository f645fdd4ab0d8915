#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "requests/decode.h"
#include "requests/failure.h"
#include "requests/flags.h"

namespace lockstep {

/// A subcommand's request: it is read from flags, printed as flags, and carried out.
class Asked {
 public:
  virtual ~Asked() = default;
  virtual void add_flags(Flags& flags) = 0;
  virtual Basis& basis() = 0;
  virtual Exit meet() const = 0;
};

/// A command line and what it is for.
struct CommandExample {
  const char* words;
  const char* about;
};

/// A subcommand: its name, a sentence about it, examples, its flags and its function.
struct Subcommand {
  const char* name;
  const char* about;
  std::vector<CommandExample> examples;  ///< that --help begins with
  /// A request with nothing but what is there by default.
  std::unique_ptr<Asked> (*ask)();
};

/// All of them, in the order of --help; the only list of them.
std::span<const Subcommand> subcommands();

/// What `lockstep --help` begins with.
std::span<const CommandExample> general_examples();

/// The words of a request of a subcommand, which decode to it (words_of of decode.h).
std::vector<std::string> words_of(const Subcommand& subcommand, Asked& asked);

/// What a command line means: a request, or else a text to print (help, version, a usage error).
struct CommandLine {
  std::unique_ptr<Asked> asked;  ///< null: `text` says everything
  const Subcommand* subcommand = nullptr;
  /// For what captures programs, which is asked then; empty: `asked` is met here.
  std::vector<std::string> handed_over;
  std::string text;
  Exit exit = Exit::ok;
};
CommandLine read_command_line(const std::vector<std::string>& words);

/// Does what a command line says; the exit status.
Exit meet(const CommandLine& line);

/// Everything that the command line takes; the requests of all subcommands, in their order, outlive
/// it.
class CommandLineApp {
 public:
  CommandLineApp();
  CLI::App& app() { return app_; }
  /// Reads words into the requests, and gives the place of the subcommand that they name.
  std::size_t parse(const std::vector<std::string>& words);
  std::unique_ptr<Asked> take(std::size_t place) { return std::move(asked_[place]); }
  std::vector<std::string> names() const;

 private:
  Surroundings at_;
  CLI::App app_;
  std::vector<std::unique_ptr<Asked>> asked_;
  std::map<std::string, Choice*> choices_;
};

}  // namespace lockstep
