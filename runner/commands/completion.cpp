#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdio>

#include "base/text.h"
#include "commands/command_line.h"
#include "commands/commands.h"

namespace lockstep {
namespace {

/// Where the shell finds the values of an option: a `list` command, files, folders, or a list of
/// choices.
struct Values {
  enum class Kind { none, anything, words, files, folders } kind = Kind::none;
  std::string words;  ///< a shell's command that prints them, or the words themselves
  bool printed = false;
};

constexpr std::string_view kIds = "list --level all";

Values values_of(const OptionFacts& option) {
  using enum Values::Kind;
  if (!option.choices.empty()) return {words, fmt::format("{}", fmt::join(option.choices, " "))};
  const std::string& name = option.names.back();
  if (name == "--path") return {words, "list --paths", true};
  if (name == "--level") return {words, "list --levels", true};
  if (name == "SELECT" || name == "--like") return {words, std::string(kIds), true};
  const std::string& value = option.positional ? name : option.value;
  if (value == "FILE" || value == "LOG" || value == "FILE|DIR" || value == "OLD" || value == "NEW")
    return {files, ""};
  if (value == "DIR") return {folders, ""};
  return {value.empty() ? none : anything, ""};
}

/// The first word of each line that our own command prints, without a table's headings.
std::string lookup(const Values& values, std::string_view program) {
  const bool table = !values.words.starts_with(kIds);
  return fmt::format("{} {} 2>/dev/null{}", program, values.words,
                     table ? " | sed -e 1d -e 's/ .*//'" : "");
}

std::vector<OptionFacts> with_common(const std::vector<CommandFacts>& all,
                                     const CommandFacts& command) {
  std::vector<OptionFacts> options = command.options;
  for (const OptionFacts& option : all.front().options) {
    if (option.names.back() == "--suite" || option.names.back() == "--color")
      options.push_back(option);
  }
  return options;
}

/// Words as one word of bash that has a line for each.
std::string lines(std::string_view words) {
  std::string text = "$'";
  for (const char character : words) text += character == ' ' ? "\\n" : std::string(1, character);
  return text + "'";
}

std::string bash_values(const Values& values) {
  using enum Values::Kind;
  switch (values.kind) {
    case words:
      return values.printed
                 ? fmt::format("_lockstep_words \"$({})\"", lookup(values, "\"${COMP_WORDS[0]}\""))
                 : fmt::format("_lockstep_words {}", lines(values.words));
    case files:
      return "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")";
    case folders:
      return "mapfile -t COMPREPLY < <(compgen -d -- \"$word\")";
    default:
      return ":";
  }
}

/// What is completed behind a subcommand: the values of its options go to `text`; the rest, a
/// branch for the subcommand, is given.
std::string bash_command(const std::vector<CommandFacts>& all, const CommandFacts& command,
                         std::string& text) {
  std::vector<std::string> flags;
  std::string positional = ":";
  for (const OptionFacts& option : with_common(all, command)) {
    const Values values = values_of(option);
    if (option.positional) {
      positional = bash_values(values);
      continue;
    }
    for (const std::string& name : option.names) {
      flags.push_back(name);
      if (values.kind != Values::Kind::none)
        text += fmt::format("    {}:{}) {}; return ;;\n", command.name, name, bash_values(values));
    }
  }
  return fmt::format(
      "    {})\n      if [[ $word == -* ]]; then _lockstep_words {}; else {}; fi\n      ;;\n",
      command.name, lines(fmt::format("{}", fmt::join(flags, " "))), positional);
}

/// An id has characters at which bash breaks words, so that only what comes behind the last of them
/// is completed.
std::string bash(const std::vector<CommandFacts>& all) {
  std::string text =
      "# bash completion of lockstep: eval \"$(ci/lockstep completion bash)\"\n"
      // Not `compgen -W`, which would expand what a stranger's case is called.
      "_lockstep_words() { # of these lines, what begins as the word does\n"
      "  local each quoted before=${word%\"${word##*[@:=]}\"}\n"
      "  COMPREPLY=()\n"
      "  while IFS= read -r each; do\n"
      "    printf -v quoted %q \"$each\"\n"
      "    [[ -n $each && $quoted == \"$word\"* ]] && COMPREPLY+=(\"${quoted#\"$before\"}\")\n"
      "  done <<<\"$1\"\n"
      "}\n"
      "_lockstep() {\n"
      "  local word=${COMP_LINE:0:COMP_POINT} previous=${COMP_WORDS[COMP_CWORD-1]} command='' "
      "each\n"
      "  word=${word##* }\n"
      "  for each in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case $each in -*) ;; ";
  std::vector<std::string> names;
  for (const CommandFacts& command : all) {
    if (!command.name.empty()) names.push_back(command.name);
  }
  text += fmt::format("{}) command=$each && break ;; esac\n  done\n", fmt::join(names, " | "));
  text += fmt::format("  if [[ -z $command ]]; then _lockstep_words {}; return; fi\n",
                      lines(fmt::format("{} --help --version", fmt::join(names, " "))));
  text += "  case $command:$previous in\n";
  std::string others;
  for (const CommandFacts& command : all) {
    if (!command.name.empty()) others += bash_command(all, command, text);
  }
  return text + "  esac\n  case $command in\n" + others +
         "  esac\n}\ncomplete -o default -F _lockstep lockstep ci/lockstep ./ci/lockstep\n";
}

std::string zsh_values(const Values& values) {
  using enum Values::Kind;
  switch (values.kind) {
    case words:
      return values.printed
                 ? fmt::format("{{compadd -- ${{(f)\"$({})\"}}}}", lookup(values, "$words[1]"))
                 : fmt::format("({})", values.words);
    case files:
      return "_files";
    case folders:
      return "_files -/";
    default:
      return " ";
  }
}

/// A description in an argument of _arguments, which brackets end and colons cut.
std::string zsh_text(std::string text) {
  std::string result;
  for (const char character : one_line(text, 100)) {
    if (character == '[' || character == ']' || character == ':' || character == '\\')
      result += '\\';
    result += character;
  }
  return result;
}

std::string zsh(const std::vector<CommandFacts>& all) {
  std::string text =
      "#compdef lockstep\n"
      "# zsh completion of lockstep: eval \"$(ci/lockstep completion zsh)\"\n"
      "_lockstep_of() {\n  case $1 in\n";
  std::string names;
  for (const CommandFacts& command : all) {
    if (command.name.empty()) continue;
    names += " " + shell_quote(command.name + ":" + zsh_text(command.about));
    text += fmt::format("    {})\n      _arguments -s -S \\\n", command.name);
    for (const OptionFacts& option : with_common(all, command)) {
      const Values values = values_of(option);
      if (option.positional) {
        text += "        " +
                shell_quote(fmt::format("*:{}:{}", option.names.front(), zsh_values(values))) +
                " \\\n";
        continue;
      }
      for (const std::string& name : option.names) {
        std::string words = fmt::format("*{}[{}]", name, zsh_text(option.help));
        if (values.kind != Values::Kind::none)
          words += fmt::format(":{}:{}", zsh_text(option.value), zsh_values(values));
        text += "        " + shell_quote(words) + " \\\n";
      }
    }
    text += "        && return 0 ;;\n";
  }
  return text +
         "  esac\n}\n"
         "_lockstep() {\n"
         "  local -a commands=(" +
         names +
         ")\n"
         "  local command=${words[2]}\n"
         "  if (( CURRENT == 2 )); then _describe command commands; else _lockstep_of $command; "
         "fi\n"
         "}\ncompdef _lockstep lockstep ci/lockstep\n";
}

std::string fish(const std::vector<CommandFacts>& all) {
  std::string text =
      "# fish completion of lockstep: ci/lockstep completion fish | source\n"
      "complete -c lockstep -f\n";
  const auto quoted = [](std::string_view raw) {
    std::string result;
    for (const char character : one_line(raw, 100)) {
      if (character == '\'' || character == '\\') result += '\\';
      result += character;
    }
    return "'" + result + "'";
  };
  for (const CommandFacts& command : all) {
    if (command.name.empty()) continue;
    text += fmt::format("complete -c lockstep -n __fish_use_subcommand -a {} -d {}\n", command.name,
                        quoted(command.about));
    for (const OptionFacts& option : with_common(all, command)) {
      const Values values = values_of(option);
      std::string line =
          fmt::format("complete -c lockstep -n '__fish_seen_subcommand_from {}'", command.name);
      for (const std::string& name : option.names) {
        if (option.positional) continue;
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      using enum Values::Kind;
      if (values.kind == words)
        line += (option.positional ? " -a " : " -x -a ") +
                quoted(values.printed ? "(" + lookup(values, "lockstep") + ")" : values.words);
      if (values.kind == files) line += option.positional ? " -F" : " -r -F";
      if (values.kind == folders) line += " -x -a '(__fish_complete_directories)'";
      if (values.kind == anything) line += " -x";
      if (!option.positional) line += " -d " + quoted(option.help);
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace

Exit command_completion(const CompletionOptions& options) {
  const std::vector<CommandFacts> all = command_facts();
  const std::string& shell = options.shell;
  const std::string text = shell == "bash" ? bash(all) : shell == "zsh" ? zsh(all) : fish(all);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return Exit::ok;
}

}  // namespace lockstep
