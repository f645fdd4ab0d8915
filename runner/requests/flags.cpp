#include "requests/flags.h"

#include <fmt/format.h>

#include "plan/filter.h"
#include "requests/report_formats.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

constexpr const char* kStatuses =
    "\nExit status: 0 as expected, 1 verdicts fail, 2 wrong usage or an invalid file, 3 Lockstep "
    "failed or\n"
    "has no worker to use, 4 the terms of SELECT have nothing in common, 130 interrupted.\n";

constexpr double kMostGib = 1 << 20;  // what no machine has; in bytes an integer holds it

}  // namespace

CLI::Validator number_between(double low, double high) {
  const std::string bounds = fmt::format("{} to {}", low, high);
  return {[=](const std::string& text) {
            double value = 0;
            const bool fits =
                CLI::detail::lexical_cast(text, value) && value >= low && value <= high;
            return fits ? std::string()
                        : fmt::format("found {}, expected a number from {}", text, bounds);
          },
          bounds};
}

std::vector<FlagWords> Flags::words() const {
  std::vector<FlagWords> all;
  for (const Entry& entry : entries_) {
    FlagWords one{entry.name, {}};
    for (const std::string& text : entry.texts()) {
      const bool is_flag = text.empty() && entry.behind_equals;
      if (entry.positional) {
        one.words.push_back(text);
      } else if (is_flag) {
        one.words.push_back(entry.name);
      } else if (entry.behind_equals || (text.starts_with('-') && text != "-")) {
        one.words.push_back(entry.name + "=" + text);
      } else {
        one.words.insert(one.words.end(), {entry.name, text});
      }
    }
    all.push_back(std::move(one));
  }
  return all;
}

CLI::Option* Flags::added(CLI::Option* option, std::function<std::vector<std::string>()> texts,
                          bool behind_equals) {
  entries_.push_back(
      {option->get_name(), option->get_positional(), behind_equals, std::move(texts)});
  return option;
}

CLI::Option* Flags::value(const std::string& names,
                          const std::function<void(const std::string&)>& set,
                          std::function<std::vector<std::string>()> texts,
                          const std::string& help) {
  return added(app_.add_option_function<std::string>(names, set, help), std::move(texts));
}

CLI::Option* Flags::flag(const std::string& names, bool& place, const std::string& help) {
  return added(
      app_.add_flag(names, place, help),
      [&place] { return std::vector<std::string>(place ? 1 : 0); }, true);
}

CLI::Option* Flags::off(const std::string& name, bool& place, const std::string& help) {
  return callback_flag(
      name, [&place] { place = false; }, [&place] { return !place; }, help);
}

CLI::Option* Flags::callback_flag(const std::string& name, std::function<void()> set,
                                  std::function<bool()> is_set, const std::string& help) {
  return added(
      app_.add_flag_callback(name, std::move(set), help),
      [is_set = std::move(is_set)] { return std::vector<std::string>(is_set() ? 1 : 0); }, true);
}

CLI::Option* Flags::file(const std::string& name, fs::path& place, const std::string& help) {
  return value(name, place, help)->transform([directory = directory_](const std::string& text) {
    return (directory / text).lexically_normal().string();
  });
}

void Flags::files(const std::string& name, std::vector<fs::path>& place, const std::string& help,
                  const std::string& type) {
  value(name, place, help)
      ->transform([directory = directory_](const std::string& text) {
        return (directory / text).lexically_normal().string();
      })
      ->type_name(type)
      ->allow_extra_args(false);
}

void Flags::modules(const std::string& name, std::vector<std::string>& place,
                    const std::string& help) {
  value(name, place, help)
      ->transform([directory = directory_](const std::string& text) {
        return text.ends_with(".py") ? (directory / text).lexically_normal().string() : text;
      })
      ->type_name("NAME|FILE.py")
      ->allow_extra_args(false);
}

void add_libraries(Flags& flags, OwnFiles& files) {
  flags.under(headings::kOwn);
  flags.files("--library", files.libraries,
              "A shared object that adds operators or kernels to torch (repeatable)");
  flags.modules("--module", files.modules,
                "A Python module that adds operators to torch (repeatable)");
}

void add_path_files(Flags& flags, OwnFiles& files) {
  flags.under(headings::kOwn);
  flags.files("--path-file", files.path_files,
              "A path file of your own: docs/vendor/path-files.md (repeatable)");
}

void add_selection(Flags& flags, Basis& basis) {
  Choice& choice = basis.choice;
  flags.selects(choice);
  flags.under(headings::kWhich);
  flags.positional("SELECT", choice.select,
                   "Ids and terms (see below), or case files and folders of your own: "
                   "./mine.json, DIR/ (default: the level `smoke`)");
  flags.value("--level", choice.level, "Take the cases of a level; `all` has every case")
      ->type_name("LEVEL");
  flags
      .value("--path", choice.paths,
             "Take these paths instead of the default ones: names or globs")
      ->type_name("PATH")
      ->allow_extra_args(false)  // else it would swallow SELECT; see decode.cpp
      ->delimiter(',');
  flags.value("--device", choice.devices, "Take these devices: names or globs")
      ->type_name("DEVICE")
      ->allow_extra_args(false)
      ->delimiter(',');
  flags.under(headings::kOwn);
  flags.files(
      "--case-file", basis.files.case_files,
      "Case files of your own, or a folder of them, beside the suite's (repeatable); SELECT "
      "chooses among all",
      "FILE|DIR");
  add_path_files(flags, basis.files);
  flags.under(headings::kWhich);
  flags
      .value("--from", choice.from,
             "The log in which terms about verdicts look (default: that of the latest run)")
      ->type_name("LOG");
  add_libraries(flags, basis.files);
  flags.app().footer(selection_help());
}

void add_relations(Flags& flags, bool& relations) {
  flags.under(headings::kHow);
  flags.flag(
      "--relations", relations,
      "Ask of every case of one call also what needs no eager: rows alone have the bits that "
      "they have among all, and so on (docs/cases/format.md#relations)");
}

void add_ladder(Flags& flags, bool& ladder) {
  flags.under(headings::kWhich);
  flags.flag("--ladder", ladder,
             "Take the whole ladder: every path that has a layer, or those below --path. The "
             "first layer that diverges is where a divergence begins");
}

std::string output_file(const std::string& file) {
  const bool is_output = file == "/dev/stdout" || file == "/dev/fd/1" || file == "/proc/self/fd/1";
  return is_output ? "-" : file;
}

void add_report_files(Flags& flags, Reporting& reporting) {
  flags.under(headings::kWrites);
  for (const ReportFormat& report : report_formats()) {
    const std::string flag = report.flag;
    flags
        .value(
            flag,
            [&reporting, flag](const std::string& file) {
              reporting.files[flag] = output_file(file);
            },
            [&reporting, flag] {
              const auto found = reporting.files.find(flag);
              return found == reporting.files.end()
                         ? std::vector<std::string>()
                         : std::vector<std::string>{found->second.string()};
            },
            report.help)
        ->type_name("FILE");
  }
}

void add_min_judged(Flags& flags, Reporting& reporting, const char* fallback) {
  flags.under(headings::kFails);
  add_percent(flags, "--min-judged", reporting.min_judged,
              fmt::format("Fail if less than PERCENT was judged. What eager or this torch cannot "
                          "do, and what a path declares, does not count (default: {})",
                          fallback));
}

void add_telling(Flags& flags, Reporting& reporting) {
  flags.under(headings::kPrints);
  CLI::Option* verbose =
      flags.flag("-v,--verbose", reporting.verbose, "Print a line for every verdict");
  flags.flag("-q,--quiet", reporting.quiet, "Print only what fails, and the totals in one line")
      ->excludes(verbose);
  flags.flag("--github", reporting.github,
             "Print annotations for GitHub, and append the summary to the job's (default if "
             "GITHUB_ACTIONS is set)");
}

void add_jobs(Flags& flags, Pace& pace) {
  flags.under(headings::kHow);
  flags.value("-j,--jobs", pace.jobs, "Executions at a time (default: three for two cores)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
}

CLI::Option* add_threads(Flags& flags, Pace& pace, const char* help) {
  flags.under(headings::kHow);
  return flags.value("--threads", pace.threads, help)->check(CLI::Range(1, 1024))->type_name("N");
}

void add_strict(Flags& flags, Reporting& reporting) {
  flags.under(headings::kFails);
  flags.flag("--strict", reporting.strict, "Also fail on `fixed`, `inconclusive` and `refused`");
}

void add_out_file(Flags& flags, std::filesystem::path& out) {
  flags.under(headings::kWrites);
  flags.value("--to", out, "Write to FILE instead of standard output")->type_name("FILE");
}

void add_pace(Flags& flags, Pace& pace) {
  add_jobs(flags, pace);
  flags.value("--timeout", pace.limits.other, "Seconds that each stage of an execution may take")
      ->capture_default_str()
      ->check(number_between(0.001, kMostSeconds))
      ->type_name("S");
  flags
      .value("--compile-timeout", pace.limits.compile,
             "Seconds that tracing, lowering or compiling may take")
      ->capture_default_str()
      ->check(number_between(0.001, kMostSeconds))
      ->type_name("S");
  flags
      .value("--memory", pace.memory_gib,
             "GiB of address space that one execution may use (default: what the machine has)")
      ->check(number_between(0.001, kMostGib))
      ->type_name("GIB");
}

std::string selection_help() { return "\n" + filter_help() + kStatuses; }

}  // namespace lockstep
