#include "commands/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <random>

#include "base/reader.h"
#include "base/text.h"
#include "commands/command_line.h"
#include "commands/elsewhere.h"
#include "commands/report_formats.h"
#include "plan/shard.h"

namespace lockstep {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

constexpr char kMark = '\x01';  // no name has it

/// Takes the words after --path and --device out of the arguments, and leaves a mark.
std::vector<std::string> take_following(const std::vector<std::string>& arguments,
                                        Options& options) {
  std::vector<std::string> kept;
  const bool any_selects = std::any_of(arguments.begin(), arguments.end(), selects);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    kept.push_back(word);
    if (!any_selects) continue;
    const std::string flag = word.substr(0, word.find('='));
    if (flag != "--path" && flag != "--device") continue;
    if (flag == word && i + 1 < arguments.size()) kept.push_back(arguments[++i]);
    FollowingWords list{flag == "--device", {}};
    while (i + 1 < arguments.size() && !arguments[i + 1].starts_with('-') &&
           !selects(arguments[i + 1]))
      list.words.push_back(arguments[++i]);
    if (list.words.empty()) continue;
    kept.push_back(kMark + std::to_string(options.following.size()));
    options.following.push_back(std::move(list));
  }
  return kept;
}

/// A seed that looks like nothing: five digits are enough to type again.
std::string random_seed() { return std::to_string(std::random_device()() % 100000); }

/// For the first option that no command knows, the nearest that there is.
std::string option_hint(CLI::App& app, int argc, const char* const* argv) {
  std::vector<std::string> names;
  const auto add = [&](const CLI::App* each) {
    for (const CLI::Option* option : each->get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
  };
  add(&app);
  for (const CLI::App* command : app.get_subcommands({})) {
    if (argc > 1 && command->get_name() == argv[1]) add(command);
  }
  for (int i = 1; i < argc; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (!word.starts_with("--") || contains(names, word)) continue;
    const std::string hint = suggestion(word, names);
    return hint.empty() ? "" : "    " + hint + "\n";
  }
  return "";
}

bool is_seed(const std::string& text) {
  return !text.empty() && text.size() < 19 &&
         text.find_first_not_of("0123456789") == std::string::npos;
}

Options parse(int argc, const char* const* argv, const std::filesystem::path& directory) {
  Options options;
  options.directory = directory;
  options.home = environment("LOCKSTEP_HOME");
  options.launcher = environment("LOCKSTEP_COMMAND");
  options.python = environment("LOCKSTEP_PYTHON");
  options.cache = environment("LOCKSTEP_CACHE");
  options.eager = environment("LOCKSTEP_EAGER");
  options.cudart = environment("LOCKSTEP_CUDART");
  options.digests = environment("LOCKSTEP_DIGESTS");
  for (int i = 1; i < argc; ++i) options.arguments.emplace_back(argv[i]);
  options.github = environment("GITHUB_ACTIONS") == "true";

  CLI::App app;
  add_commands(app, options);
  try {
    std::vector<std::string> arguments = take_following(options.arguments, options);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants them
    app.parse(std::move(arguments));
  } catch (const CLI::Success& success) {  // help and version
    std::ostringstream out;
    app.exit(success, out, out);
    options.text = out.str();
    return options;
  } catch (const CLI::ParseError& error) {
    std::vector<std::string> commands;
    for (const CLI::App* command : app.get_subcommands({})) commands.push_back(command->get_name());
    options.text = fmt::format("lockstep: {}\n", error.what());
    options.text += option_hint(app, argc, argv);
    const bool known = argc > 1 && contains(commands, argv[1]);
    if (!known && argc > 1 && argv[1][0] != '-') {
      options.text = fmt::format("lockstep: `{}` is no command", argv[1]);
      const std::string hint = suggestion(argv[1], commands);
      options.text += hint.empty() ? "\n" : fmt::format("\n    {}\n", hint);
    }
    options.text += known ? fmt::format("    see `ci/lockstep {} --help`\n", argv[1])
                          : "    see `ci/lockstep --help`\n";
    options.exit = Exit::usage;
    return options;
  }
  const auto misused = [&](const std::string& message) {
    options.text = fmt::format("lockstep: {}\n", message);
    options.exit = Exit::usage;
    return options;
  };
  if (!options.shuffle.empty() && options.shuffle != "random" && !is_seed(options.shuffle))
    return misused(
        fmt::format("found --shuffle={}, expected a whole number as seed", options.shuffle));
  if (options.shuffle == "random") {
    options.shuffle = random_seed();
    // The log gets the seed, so that --resume finds the same order.
    for (std::string& argument : options.arguments) {
      if (argument == "--shuffle") argument += "=" + options.shuffle;
    }
  }
  if (!options.repeat_seed.empty() && !is_seed(options.repeat_seed))
    return misused(
        fmt::format("found --repeat-seed {}, expected a whole number", options.repeat_seed));
  if (!options.seed.empty() && !is_seed(options.seed))
    return misused(fmt::format("found --seed {}, expected a whole number", options.seed));
  if (options.seed.empty()) options.seed = random_seed();
  if (options.repeat_share < 100 && options.repeat_seed.empty()) {
    options.repeat_seed = random_seed();
    // For --resume, as above.
    options.arguments.insert(options.arguments.end(), {"--repeat-seed", options.repeat_seed});
  }
  if (!options.shard.empty()) {
    const auto shard = parse_shard(options.shard, environment);
    if (!shard)
      return misused(shard.error().hint.empty()
                         ? shard.error().message
                         : fmt::format("{}\n    {}", shard.error().message, shard.error().hint));
    // The log gets the numbers, so that --resume goes on with this shard wherever it is.
    const std::string resolved = fmt::format("{}/{}", shard->number, shard->of);
    for (std::size_t i = 0; i < options.arguments.size(); ++i) {
      std::string& argument = options.arguments[i];
      if (argument == "--shard" && i + 1 < options.arguments.size())
        options.arguments[i + 1] = resolved;
      if (argument.starts_with("--shard=")) argument = "--shard=" + resolved;
    }
    options.shard = resolved;
  }
  if (!options.on.empty()) {
    if (const auto cluster = parse_cluster(options.on, directory); !cluster)
      return misused(fmt::format("{}\n    {}", cluster.error().message, cluster.error().hint));
  }
  if (!options.durations.empty() && options.shard.empty() && options.on.empty())
    return misused("found --durations without --shard or --on, which it balances");
  if (options.accept_crashes && options.update_known.empty())
    return misused("--accept-crashes needs --update-known");
  if (!options.known_files.empty() && options.no_expectations)
    return misused("found --known beside --no-expectations, which judges as if nothing were known");
  const int others = options.unswept + options.as_level + options.count + !options.words.empty();
  const int forms = options.words.empty() ? options.json + options.markdown : 0;
  if (others + forms > 1 || options.words.find(' ') != std::string::npos)
    return misused(
        "found several of --count, --as-level, --unswept, --paths, --levels, --policies and "
        "--statuses, expected one\n"
        "    --json or --markdown goes with the last four, and with none of them");
  for (const ReportFormat& report : report_formats()) {
    // Opened by such a name, a file that standard output goes to would be written from its begin.
    for (const char* name : {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"}) {
      if (options.*report.file == name) options.*report.file = "-";
    }
  }
  if (const auto flags = on_standard_output(options); flags.size() > 1)
    return misused(
        fmt::format("found {} on standard output, which has room for one\n"
                    "    give the others a file each",
                    enumerate(flags)));
  const CLI::App* command = app.get_subcommands().front();
  options.command = command->get_name();
  for (const CLI::Option* option : command->get_options()) {
    if (option->count() == 0) continue;
    std::vector<std::string>& given = options.given[option->get_name()];
    for (const std::string& text : option->results()) {
      const FollowingWords* list = following_words(options, text);
      given.push_back(list == nullptr ? text : fmt::format("{}", fmt::join(list->words, " ")));
    }
  }
  if (options.home.empty()) options.home = options.suite.empty() ? "." : options.suite;
  if (options.suite.empty()) options.suite = options.home;
  if (options.launcher.empty()) options.launcher = "ci/lockstep";
  if (options.cache.empty()) options.cache = options.home / ".lockstep";
  if (options.python.empty()) options.python = "python3";
  for (auto* files : {&options.libraries, &options.case_files, &options.path_files,
                      &options.known_files, &options.allow_files, &options.waiver_files}) {
    for (std::filesystem::path& file : *files) file = (directory / file).lexically_normal();
  }
  if (!options.knobs_file.empty())
    options.knobs_file = (directory / options.knobs_file).lexically_normal();
  if (!options.durations.empty())
    options.durations = (directory / options.durations).lexically_normal();
  if (options.update_known == "default")
    options.update_known = (options.suite / "expected" / "known" / "proposed.json").string();
  return options;
}

}  // namespace

bool selects(const std::string& command) {
  return executes(command) || command == "list" || command == "show" || command == "repro" ||
         command == "explain" || command == "shrink";
}

bool executes(const std::string& command) {
  return command == "run" || command == "pack" || command == "replay";
}

Options parse_options(int argc, const char* const* argv) {
  std::error_code error;  // where it is gone, paths stay as they are
  return parse(argc, argv, std::filesystem::current_path(error));
}

Options parse_options(const std::vector<std::string>& arguments,
                      const std::filesystem::path& directory) {
  std::vector<const char*> argv = {"lockstep"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  Options options = parse(static_cast<int>(argv.size()), argv.data(), directory);
  for (std::filesystem::path* file :
       {&options.home, &options.suite, &options.cache, &options.from}) {
    if (!file->empty()) *file = directory / *file;
  }
  return options;
}

const FollowingWords* following_words(const Options& options, const std::string& text) {
  for (std::size_t i = 0; i < options.following.size(); ++i) {
    if (text == kMark + std::to_string(i)) return &options.following[i];
  }
  return nullptr;
}

std::vector<std::string> on_standard_output(const Options& options) {
  std::vector<std::string> flags;
  for (const ReportFormat& report : report_formats()) {
    if (options.*report.file == "-") flags.emplace_back(report.flag);
  }
  if (options.update_known == "-") flags.emplace_back("--update-known");
  return flags;
}

}  // namespace lockstep
