#pragma once

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "requests/requests.h"

namespace lockstep {

/// The headings of --help, under which flags stand.
namespace headings {
constexpr const char* kWhich = "What to take";
constexpr const char* kOwn = "Files of your own";
constexpr const char* kHow = "How to execute";
constexpr const char* kAgain = "What to execute again";
constexpr const char* kMachines = "Several machines";
constexpr const char* kFails = "What fails";
constexpr const char* kWrites = "What to write";
constexpr const char* kPrints = "What to print";
}  // namespace headings

/// A flag with the words that say what it has: {"--level", {"--level", "all"}}; a positional
/// argument by its name.
struct FlagWords {
  std::string name;
  std::vector<std::string> words;
};

/// The flags of a subcommand: each is read into a place of a request, and printed from it.
class Flags {
 public:
  /// `directory`: where names of files begin.
  Flags(CLI::App& app, std::filesystem::path directory)
      : app_(app), directory_(std::move(directory)) {}

  /// A flag that takes a value, or several times one where `place` is a vector.
  template <class T>
  CLI::Option* value(const std::string& names, T& place, const std::string& help) {
    return added(app_.add_option(names, place, help), [&place] { return texts_of(place); });
  }
  /// The same, read by `set` and printed by `texts`.
  CLI::Option* value(const std::string& names, const std::function<void(const std::string&)>& set,
                     std::function<std::vector<std::string>()> texts, const std::string& help);
  /// Several words without a flag, or one.
  template <class T>
  CLI::Option* positional(const std::string& name, T& place, const std::string& help) {
    return value(name, place, help);
  }
  CLI::Option* flag(const std::string& names, bool& place, const std::string& help);
  /// A flag that makes `place` false.
  CLI::Option* off(const std::string& name, bool& place, const std::string& help);
  /// A flag that does something; `is_set`: whether it was done.
  CLI::Option* callback_flag(const std::string& name, std::function<void()> set,
                             std::function<bool()> is_set, const std::string& help);
  /// A flag that takes a value behind `=`, and without one means `fallback`.
  template <class T>
  CLI::Option* optional_value(const std::string& name, const std::string& fallback, T& place,
                              const std::string& help) {
    const T now = place;
    CLI::Option* option = app_.add_flag(name + "{" + fallback + "}", place, help);
    place = now;  // CLI11 sets a number to zero
    return added(
        option, [&place] { return texts_of(place); }, true);
  }
  /// Files, each with a flag of its own; they become absolute.
  void files(const std::string& name, std::vector<std::filesystem::path>& place,
             const std::string& help, const std::string& type = "FILE");
  /// Names of Python modules, or files of them, which become absolute.
  void modules(const std::string& name, std::vector<std::string>& place, const std::string& help);
  /// A file that becomes absolute.
  CLI::Option* file(const std::string& name, std::filesystem::path& place, const std::string& help);

  /// The heading of --help under which the flags that follow stand.
  void under(const char* heading) { app_.option_defaults()->group(heading); }
  /// SELECT and its flags go here, too.
  void selects(Choice& choice) { choice_ = &choice; }
  Choice* choice() const { return choice_; }
  CLI::App& app() { return app_; }
  /// All of them, as the places are now, in the order in which they were added.
  std::vector<FlagWords> words() const;

 private:
  struct Entry {
    std::string name;
    bool positional, behind_equals;
    std::function<std::vector<std::string>()> texts;
  };
  CLI::Option* added(CLI::Option* option, std::function<std::vector<std::string>()> texts,
                     bool behind_equals = false);

  static std::vector<std::string> texts_of(const std::string& text) {
    return text.empty() ? std::vector<std::string>() : std::vector{text};
  }
  static std::vector<std::string> texts_of(const std::filesystem::path& file) {
    return texts_of(file.string());
  }
  template <class T>
  requires std::is_arithmetic_v<T>
  static std::vector<std::string> texts_of(T number) { return {fmt::format("{}", number)}; }
  template <class T>
  static std::vector<std::string> texts_of(const std::optional<T>& number) {
    return number ? texts_of(*number) : std::vector<std::string>();
  }
  template <class T>
  static std::vector<std::string> texts_of(const std::vector<T>& values) {
    std::vector<std::string> texts;
    for (const T& each : values) texts.push_back(texts_of(each).at(0));
    return texts;
  }

  CLI::App& app_;
  std::filesystem::path directory_;
  std::vector<Entry> entries_;
  Choice* choice_ = nullptr;
};

constexpr double kMostSeconds = 1e6;  ///< that a flag takes: eleven days

/// A number of these bounds, which are shown as given here; CLI::Range lets NaN pass.
CLI::Validator number_between(double low, double high);

/// A number in percent, with its sign or without: 5% or 5.
template <class Number>
CLI::Option* add_percent(Flags& flags, const char* flag, Number& share, const std::string& help) {
  return flags.value(flag, share, help)
      ->transform([](std::string text) {
        if (text.ends_with('%')) text.pop_back();
        return text;
      })
      ->check(number_between(0, 100))
      ->type_name("PERCENT");
}

// What several subcommands have in common.

/// `--library`, for commands that resolve or execute operators.
void add_libraries(Flags& flags, OwnFiles& files);
/// `--path-file`, for commands that know paths.
void add_path_files(Flags& flags, OwnFiles& files);
/// SELECT and the flags that select; the subcommand's footer explains them.
void add_selection(Flags& flags, Basis& basis);
/// `--ladder`, for commands that take or print paths.
void add_ladder(Flags& flags, bool& ladder);
/// `--relations`, for commands that execute.
void add_relations(Flags& flags, bool& relations);
/// A file to write to: "-" where standard output is named as a file, which, opened by such a name,
/// would be written from its begin.
std::string output_file(const std::string& file);
/// A flag for each format of a report.
void add_report_files(Flags& flags, Reporting& reporting);
/// `fallback`: what holds without the flag, in words.
void add_min_judged(Flags& flags, Reporting& reporting, const char* fallback);
/// How much of its verdicts a run prints, and where.
void add_telling(Flags& flags, Reporting& reporting);
/// Executions at a time.
void add_jobs(Flags& flags, Pace& pace);
/// Threads of each execution; `help` says what holds without it.
CLI::Option* add_threads(Flags& flags, Pace& pace,
                         const char* help =
                             "Threads of each execution (default: 2; of a frozen "
                             "level its own)");
/// `--strict`: more standings fail.
void add_strict(Flags& flags, Reporting& reporting);
/// `--out`, for commands that otherwise print.
void add_out_file(Flags& flags, std::filesystem::path& out);
/// How fast, and how long at most, instances are executed.
void add_pace(Flags& flags, Pace& pace);
/// What --help says after the flags of commands that select.
std::string selection_help();

// The requests, each with the name of its subcommand in words_of (decode.h).
void add_flags(Flags& flags, RunRequest& request);
void add_flags(Flags& flags, PackRequest& request);
void add_flags(Flags& flags, ReplayRequest& request);
void add_flags(Flags& flags, CertifyRequest& request);
void add_flags(Flags& flags, VerifyRequest& request);

}  // namespace lockstep
