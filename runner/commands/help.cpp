#include "commands/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "commands/subcommand.h"

namespace lockstep {
namespace {

constexpr std::size_t kWidth = 100;
constexpr std::size_t kColumn = 30;            ///< where descriptions begin
constexpr const char* kUngrouped = "Options";  ///< CLI11's group of what is in no other

/// Text in lines that begin at column `indent`.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string result, line;
  for (const std::string& word : CLI::detail::split(std::string(text), ' ')) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > kWidth) {
      result += std::string(indent, ' ') + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return result + std::string(indent, ' ') + line + "\n";
}

/// A name and what it means, on the same line where the name leaves room.
std::string entry(const std::string& name, const std::string& text) {
  const std::string meaning = wrapped(text, kColumn);
  const std::size_t end = 2 + name.size();
  return "  " + name + (end + 2 > kColumn ? "\n" + meaning : meaning.substr(end));
}

class HelpFormat : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    std::string text = wrapped(CLI::detail::trim_copy(app->get_description()), 0);
    for (const Subcommand& row : subcommands()) {
      if (app->get_name() == row.name) text += examples(row.examples);
    }
    if (app->get_parent() == nullptr) text += examples(general_examples());
    text += "\n" + make_usage(app, name);
    return text + make_positionals(app) + groups(app) + make_subcommands(app, mode) + "\n" +
           make_footer(app);
  }

  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override {
    std::string text = is_positional ? "\n" : "\n" + group + ":\n";
    for (const CLI::Option* option : options) text += make_option(option, is_positional);
    return text;
  }

  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    std::vector<std::string> notes;
    if (option->get_required()) notes.emplace_back("required");
    if (!option->get_default_str().empty())
      notes.push_back("default: " + option->get_default_str());
    for (const CLI::Option* needed : option->get_needs())
      notes.push_back("needs " + needed->get_name());
    std::set<std::string> others;  // CLI11 has them in the order of their addresses
    for (const CLI::Option* other : option->get_excludes()) others.insert(other->get_name());
    if (!others.empty()) notes.push_back(fmt::format("not with {}", fmt::join(others, " or ")));
    std::string text = option->get_description();
    if (!notes.empty()) text += fmt::format(" ({})", fmt::join(notes, "; "));
    return entry(name_of(*option, is_positional), text);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }

 private:
  /// What belongs to no group comes last.
  std::string groups(const CLI::App* app) const {
    std::vector<std::string> names = app->get_groups();
    std::stable_partition(names.begin(), names.end(),
                          [](const std::string& name) { return name != kUngrouped; });
    std::string text;
    for (const std::string& name : names) {
      const auto options = app->get_options([&](const CLI::Option* option) {
        return option->get_group() == name && option->nonpositional();
      });
      if (!options.empty()) text += make_group(name, false, options);
    }
    return text;
  }

  static std::string examples(std::span<const CommandExample> rows) {
    std::size_t width = 0;
    for (const CommandExample& row : rows) width = std::max(width, std::strlen(row.words));
    std::string text = rows.empty() ? "" : "\n";
    for (const CommandExample& row : rows)
      text += fmt::format("  {:<{}}  {}\n", row.words, width, row.about);
    return text;
  }

  static std::string name_of(const CLI::Option& option, bool is_positional) {
    const bool many = option.get_items_expected_max() > 1;
    if (is_positional) return option.get_name(true) + (many ? "..." : "");
    std::vector<std::string> names;
    for (const std::string& name : option.get_snames()) names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
    const std::string value = option.get_type_name().substr(0, option.get_type_name().find(':'));
    std::string text = fmt::format("{}", fmt::join(names, ", "));
    if (option.get_items_expected_max() > 0) return text + " " + value;
    return value.empty() ? text : text + "[=" + value + "]";
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_format() { return std::make_shared<HelpFormat>(); }

}  // namespace lockstep
