#include <fmt/format.h>

#include <cstdio>

#include "commands/command_line.h"
#include "commands/commands.h"

namespace lockstep {
namespace {

/// Text in the language of man pages, which reads a backslash, a dash and a dot or an apostrophe at
/// the beginning of a line in ways of its own.
std::string roff(std::string_view text) {
  std::string result;
  bool begins = true;
  for (const char character : text) {
    if (begins && (character == '.' || character == '\'')) result += "\\&";
    if (character == '\\') {
      result += "\\e";
    } else if (character == '-') {
      result += "\\-";
    } else {
      result += character;
    }
    begins = character == '\n';
  }
  return result;
}

std::string option_entry(const OptionFacts& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += (names.empty() ? "" : ", ");
    names += option.positional ? "\\fI" + roff(name) + "\\fR" : "\\fB" + roff(name) + "\\fR";
  }
  if (!option.value.empty()) names += " \\fI" + roff(option.value) + "\\fR";
  return ".TP\n" + names + "\n" + roff(option.help) + "\n";
}

/// Lines that are columns already.
std::string as_they_are(const std::string& text) {
  return ".PP\n.nf\n" + roff(text) + (text.ends_with('\n') ? "" : "\n") + ".fi\n";
}

}  // namespace

Exit command_man(const ManOptions&) {
  const std::vector<CommandFacts> all = command_facts();
  std::string text = fmt::format(
      ".TH LOCKSTEP 1 \"\" \"lockstep {}\" \"User Commands\"\n"
      ".SH NAME\nlockstep \\- conformance tests of PyTorch compilers\n"
      ".SH SYNOPSIS\n.B lockstep\n\\fICOMMAND\\fR [\\fIOPTION\\fR...] [\\fISELECT\\fR...]\n"
      ".SH DESCRIPTION\n{}\nA checkout calls it as \\fBci/lockstep\\fR, which sets up what is "
      "missing.\n.SH OPTIONS\n",
      LOCKSTEP_VERSION, roff(all.front().about));
  for (const OptionFacts& option : all.front().options) text += option_entry(option);
  text += ".SH COMMANDS\n";
  for (const CommandFacts& command : all) {
    if (command.name.empty()) continue;
    text += fmt::format(".SS {}\n{}\n", roff(command.name), roff(command.about));
    for (const OptionFacts& option : command.options) {
      if (option.names.back() != "--help") text += option_entry(option);
    }
  }
  text += ".SH SELECTION AND EXIT STATUS\n" + as_they_are(selection_help()) + ".SH ENVIRONMENT\n" +
          as_they_are(environment_help()) + ".SH SEE ALSO\nREADME.md and the pages it links to\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  return Exit::ok;
}

}  // namespace lockstep
