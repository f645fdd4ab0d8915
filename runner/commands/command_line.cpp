#include "commands/command_line.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/launcher.h"
#include "base/reader.h"
#include "base/text.h"
#include "commands/capture.h"
#include "commands/help.h"
#include "commands/subcommand.h"

namespace lockstep {
namespace {

constexpr const char* kAbout =
    "Lockstep asks of a PyTorch compiler: does the compiled program still compute what eager "
    "computes?\n";

constexpr const char* kEnvironment =
    "Environment (flags come first):\n"
    "  LOCKSTEP_HOME     Lockstep's own folder, which holds cases/, expected/ and runner/\n"
    "  LOCKSTEP_CACHE    the folder of environments, builds, compiled kernels and runs\n"
    "  LOCKSTEP_TORCH    a torch release for ci/lockstep of a clone to set up\n"
    "  LOCKSTEP_PYTHON   an interpreter that has a torch\n"
    "  LOCKSTEP_EAGER    another executable of the eager worker\n"
    "  LOCKSTEP_CUDART   another CUDA runtime (libcudart.so) to ask for devices\n"
    "  LOCKSTEP_DASK     an interpreter that has Dask, for run --on\n"
    "  LOCKSTEP_DIGESTS  KIND=FILE, the library that digests tensors on devices of a kind\n"
    "  CXX               the compiler that Inductor uses\n"
    "  NO_COLOR          no colours; CLICOLOR_FORCE: colours everywhere\n";

const std::vector<std::string> kColors = {"auto", "always", "never"};
const std::vector<std::string> kShells = {"bash", "zsh", "fish"};

std::filesystem::path here() {
  std::error_code error;  // where it is gone, paths stay as they are
  return std::filesystem::current_path(error);
}

/// For the first option that no command knows, the nearest that there is.
std::string option_hint(CLI::App& app, const std::vector<std::string>& words) {
  std::vector<std::string> names;
  const auto add = [&](const CLI::App* each) {
    for (const CLI::Option* option : each->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  };
  add(&app);
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!words.empty() && command->get_name() == words.front()) add(command);
  }
  for (const std::string& given : words) {
    const std::string word = given.substr(0, given.find('='));
    if (!word.starts_with("--") || contains(names, word)) continue;
    const std::string hint = suggestion(word, names);
    return hint.empty() ? "" : "    " + hint + "\n";
  }
  return "";
}

/// The text for `lockstep` without arguments.
std::string welcome() {
  struct Row {
    const char* words;
    const char* about;
  };
  constexpr Row kRows[] = {
      {"doctor", "is here what a run needs?"},
      {"run", "judge torch.compile on a set of small programs: some minutes"},
      {"run --level core", "on all operators: half an hour the first time, then minutes"},
      {"list --level all", "the programs that there are"},
      {"show 185337-half-round-trip", "one of them, readable, with its inputs"},
      {"explain model.py", "why a model of yours differs when it is compiled"},
      {"explain ID@cpu/inductor", "who did it, if a verdict diverges"},
      {"repro ID@cpu/inductor", "the same as a Python script that needs only torch"},
      {"gate OLD NEW", "what changed from one run, or torch, to the next"},
      {"--help", "all commands; COMMAND --help: all of its options"},
  };
  std::string text = fmt::format("{}\n", kAbout);
  for (const Row& row : kRows)
    text += fmt::format("  {:<48}  {}\n", launcher() + " " + row.words, row.about);
  return text;
}

/// What to say of words that mean nothing.
std::string error_text(CommandLineApp& line, const std::vector<std::string>& words,
                       const CLI::ParseError& error) {
  const std::vector<std::string> commands = line.names();
  const std::string first = words.empty() ? "" : words.front();
  const bool known = contains(commands, first);
  std::string text = fmt::format("lockstep: {}\n{}", error.what(), option_hint(line.app(), words));
  if (!known && !words.empty() && !first.starts_with('-')) {
    const std::string hint = suggestion(first, commands);
    text = fmt::format("lockstep: `{}` is no command", first) +
           (hint.empty() ? "\n" : fmt::format("\n    {}\n", hint));
  }
  return text + (known ? fmt::format("    see {}\n", typed(first + " --help"))
                       : fmt::format("    see {}\n", typed("--help")));
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
  if (option.get_items_expected_min() > 0 && !facts.positional)
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

CommandLineApp::CommandLineApp() : at_(surroundings_of_environment(here())) {
  app_.name("lockstep");
  app_.formatter(help_format());
  app_.description(kAbout);
  app_.set_version_flag("--version", std::string("lockstep ") + LOCKSTEP_VERSION,
                        "Print the version");
  add_common(app_, at_);
  app_.footer(kEnvironment);
  for (const Subcommand& row : subcommands()) {
    Flags flags(*app_.add_subcommand(row.name, row.about), at_.directory);
    asked_.push_back(row.ask());
    asked_.back()->add_flags(flags);
    if (flags.choice() != nullptr) choices_[row.name] = flags.choice();
  }
}

std::size_t CommandLineApp::parse(const std::vector<std::string>& words) {
  parse_words(app_, words, choices_);
  complete(at_);
  const std::string name = app_.get_subcommands().front()->get_name();
  std::size_t place = 0;
  while (name != subcommands()[place].name) ++place;
  asked_[place]->basis().at = at_;
  return place;
}

std::vector<std::string> CommandLineApp::names() const {
  std::vector<std::string> names;
  for (const Subcommand& row : subcommands()) names.emplace_back(row.name);
  return names;
}

CommandLine read_command_line(const std::vector<std::string>& given) {
  CommandLine result;
  if (given.empty()) {
    result.text = welcome();
    return result;
  }
  std::vector<std::string> words = given;
  const std::optional<std::size_t> program = program_in(given);
  if (program && given[*program - 1] != "--")
    words.insert(words.begin() + static_cast<std::ptrdiff_t>(*program), "--");
  // What stands behind a program is the program's; `capture` takes it as it is.
  const bool captures = given.front() == "capture";
  if (program && !captures) {
    result.handed_over = words;
    words.resize(*program);
  }
  CommandLineApp line;
  try {
    const std::size_t place = line.parse(words);
    result.asked = line.take(place);
    result.subcommand = &subcommands()[place];
  } catch (const CLI::Success& success) {  // help and version
    std::ostringstream out;
    line.app().exit(success, out, out);
    result.text = out.str();
  } catch (const CLI::ParseError& error) {
    result.text = error_text(line, words, error);
    result.exit = Exit::usage;
  }
  return result;
}

Exit meet(const CommandLine& line) {
  if (line.asked && !line.handed_over.empty()) return hand_over(line.handed_over);
  if (line.asked) return line.asked->meet();
  fmt::print(line.exit == Exit::ok ? stdout : stderr, "{}", line.text);
  return line.exit;
}

std::vector<std::string> words_of(const Subcommand& subcommand, Asked& asked) {
  CLI::App one, other;
  const std::unique_ptr<Asked> fallback = subcommand.ask();
  Flags flags(one, {}), defaults(other, {});
  asked.add_flags(flags);
  fallback->add_flags(defaults);
  return words_of(subcommand.name, asked.basis(), flags, defaults);
}

std::vector<CommandFacts> command_facts() {
  CommandLineApp line;
  std::vector<CommandFacts> facts = {facts_of(line.app(), "")};
  for (const CLI::App* command : line.app().get_subcommands({}))
    facts.push_back(facts_of(*command, command->get_name()));
  return facts;
}

std::string environment_help() { return kEnvironment; }

}  // namespace lockstep
