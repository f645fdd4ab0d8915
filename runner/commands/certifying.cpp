#include "commands/certifying.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/files.h"
#include "base/text.h"
#include "cases/decode.h"
#include "cases/expand.h"
#include "certificate/page.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "paths/globs.h"
#include "record/judge_digest.h"
#include "record/log.h"

namespace lockstep {
namespace fs = std::filesystem;

std::string level_file_of(const std::string& level) {
  return fmt::format("expected/levels/{}.json", level);
}

SuiteAtHand suite_at_hand(const Options& options, const Session& session) {
  const Suite& suite = session.suite();
  SuiteAtHand result;
  result.level = [suite = options.suite](const std::string& name) {
    // It is a stranger's word.
    const bool is_name = name.find("..") == std::string::npos && !name.starts_with('/');
    return is_name ? read_file(suite / level_file_of(name)).value_or("") : std::string();
  };
  result.is_meant = [&cases = suite.cases](const std::string& instance, const std::string& device,
                                           const std::string& path) {
    const std::size_t bracket = std::min(instance.find('['), instance.size());
    const auto file = std::find_if(cases.begin(), cases.end(), [&](const CaseFile& each) {
      return each.id == instance.substr(0, bracket);
    });
    if (file == cases.end()) return true;
    // Of a sweep's instances the torch at hand decides; nothing of them is in `only`.
    const auto choice = std::find_if(
        file->choices.begin(), file->choices.end(),
        [&](const MatrixChoice& each) { return each.suffix == instance.substr(bracket); });
    std::vector<std::string> unknown;
    const Json root = choice == file->choices.end()
                          ? file->file.root
                          : substitute(file->file.root, *choice, device, unknown);
    Diagnostics ignored;  // `check` tells them
    Reader reader(file->file, ignored);
    Case header;
    decode_header(reader, Node{&root, ""}, header);
    return devices_take(header.only_devices, device) && paths_take(header.only_paths, path);
  };
  result.rules = read_file(options.suite / kRulesFile).value_or("");
  result.judge = judge_digest();
  std::copy_if(suite.expectations.begin(), suite.expectations.end(),
               std::back_inserter(result.expectations),
               [](const Expectation& rule) { return !rule.added; });
  result.names = suite.names;
  return result;
}

std::vector<std::string> run_arguments(const Options& options) {
  std::vector<std::string> arguments = {"run"};
  const auto add = [&](const char* flag, const std::string& value) {
    arguments.insert(arguments.end(), {flag, value});
  };
  const Options none;
  if (options.suite != options.home) add("--suite", fs::absolute(options.suite).string());
  for (const fs::path& file : options.path_files) add("--path-file", file.string());
  for (const fs::path& file : options.libraries) add("--library", file.string());
  if (options.jobs != none.jobs) add("--jobs", std::to_string(options.jobs));
  if (options.timeout != none.timeout) add("--timeout", fmt::format("{}", options.timeout));
  if (options.compile_timeout != none.compile_timeout)
    add("--compile-timeout", fmt::format("{}", options.compile_timeout));
  if (options.memory_gib != none.memory_gib) add("--memory", fmt::format("{}", options.memory_gib));
  return arguments;
}

Result<void> show_certificate(const Options& options, const Json& statement, const fs::path& file,
                              std::string_view bytes) {
  fmt::print("{}", statement_text(statement));
  Result<void> written;
  if (!options.page_file.empty())
    written = write_file(options.page_file,
                         conformance_page(statement, Digest().add(bytes).hex(),
                                          fmt::format("{} verify {}", options.launcher,
                                                      shell_quote(file.filename().string()))));
  if (written && !options.badge_file.empty())
    written = write_file(options.badge_file, conformance_badge(statement));
  return written;
}

tl::expected<RunRecord, Exit> run_with(const std::vector<std::string>& arguments,
                                       const fs::path& directory) {
  std::error_code error;
  std::vector<std::string> words = arguments;
  auto known = fs::exists(directory / RunLog::kFileName, error) ? std::optional(read_log(directory))
                                                                : std::nullopt;
  if (known && !*known) {
    print_error(known->error());
    return tl::unexpected(Exit::usage);
  }
  if (known && (*known)->complete()) return std::move(**known);
  if (known) {
    words = {"run", "--resume", directory.string()};
  } else {
    words.insert(words.end(), {"--out", directory.string()});
  }
  const Options options = parse_options(words, fs::current_path(error));
  if (!options.text.empty()) {
    fmt::print(stderr, "{}", options.text);
    return tl::unexpected(Exit::usage);
  }
  const Exit exit = command_run(options);
  auto record = read_log(directory);
  if (exit == Exit::interrupted || !record || !record->complete())
    return tl::unexpected(exit == Exit::ok || exit == Exit::failures ? Exit::internal : exit);
  return std::move(*record);
}

}  // namespace lockstep
