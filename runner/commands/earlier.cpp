#include "commands/earlier.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <tuple>

#include "base/files.h"
#include "record/log.h"
#include "requests/decode.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t kEndOfLog = 8 << 20;  ///< which has the record that ends a log

/// The first record of a log, which says what was asked for; empty where there is none.
std::optional<Json> first_record(const fs::path& folder) {
  std::error_code error;
  const fs::path log = fs::is_directory(folder, error) ? folder / RunLog::kFileName : folder;
  auto pieces = FilePieces::open(log, kLogLimits.bytes);
  if (!pieces) return std::nullopt;
  LineReader lines([&] { return pieces->next(); }, kLogLimits.line);
  const auto line = lines.next();
  if (!line || !*line) return std::nullopt;
  auto record = record_of(**line);
  return record ? std::optional(std::move(*record)) : std::nullopt;
}

}  // namespace

std::optional<double> seconds_of_run(const fs::path& directory) {
  const auto end = read_end_of_file(directory / RunLog::kFileName, kEndOfLog);
  if (!end || !end->bytes.ends_with('\n')) return std::nullopt;
  // Explanations may follow the end of a run.
  std::string_view rest = std::string_view(end->bytes).substr(0, end->bytes.size() - 1);
  while (!rest.empty()) {
    const std::size_t newline = rest.rfind('\n');
    const auto record = record_of(rest.substr(newline == std::string_view::npos ? 0 : newline + 1));
    if (!record || (*record)["type"] == "verdict") return std::nullopt;
    if ((*record)["type"] == "end") {
      if (record->value("interrupted", false)) return std::nullopt;
      const auto seconds = record->find("seconds");
      return seconds != record->end() && seconds->is_number() ? std::optional<double>(*seconds)
                                                              : std::nullopt;
    }
    rest = newline == std::string_view::npos ? "" : rest.substr(0, newline);
  }
  return std::nullopt;
}

std::optional<RunRequest> request_of_log(const fs::path& log, const Surroundings& at) {
  const auto record = first_record(log);
  if (!record || (*record)["type"] != "run") return std::nullopt;
  const auto arguments = record->find("arguments"), directory = record->find("directory");
  if (arguments == record->end() || !arguments->is_array()) return std::nullopt;
  std::vector<std::string> words;
  for (const Json& each : *arguments) {
    if (!each.is_string()) return std::nullopt;
    words.push_back(each);
  }
  Surroundings there = at;
  if (!at.own_suite) there.suite.clear();  // else it would count as one's own
  std::error_code error;
  if (directory != record->end() && directory->is_string() &&
      fs::is_directory(directory->get<std::string>(), error))
    there.directory = directory->get<std::string>();
  const auto decoded = decode_run(words, there);
  if (!decoded) return std::nullopt;
  RunRequest request;
  request.basis = decoded->basis;
  return request;
}

std::vector<fs::path> runs_in(const std::vector<fs::path>& folders, std::size_t most) {
  std::vector<std::pair<fs::file_time_type, fs::path>> runs;
  for (const fs::path& parent : folders) {
    std::error_code error;
    for (const auto& each : fs::directory_iterator(parent, error)) {
      const auto time = fs::last_write_time(each.path() / RunLog::kFileName, error);
      if (!error && !each.is_symlink()) runs.emplace_back(time, each.path());
      error.clear();
    }
  }
  std::sort(runs.rbegin(), runs.rend());
  std::vector<fs::path> latest;
  for (const auto& [time, run] : runs) {
    if (latest.size() < most) latest.push_back(run);
  }
  return latest;
}

std::optional<double> seconds_of_earlier(const RunRequest& request,
                                         const std::vector<fs::path>& folders) {
  const auto asks = [](const RunRequest& of) {
    const Choice& choice = of.basis.choice;
    return std::tuple(choice.level, choice.select, choice.after_paths, choice.paths, choice.devices,
                      choice.ladder);
  };
  for (const fs::path& run : runs_in(folders)) {
    const auto earlier = request_of_log(run, request.basis.at);
    if (!earlier || asks(*earlier) != asks(request)) continue;
    if (const auto seconds = seconds_of_run(run)) return seconds;
  }
  return std::nullopt;
}

std::string folder_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ||
                       c == '+' || c == '-';
    if (plain || (!name.empty() && name.back() != '-')) name += plain ? c : '-';
  }
  name.erase(0, name.find_first_not_of("-."));
  return name.empty() ? "run" : name.substr(0, 120);
}

std::string words_for(const RunRequest& request) {
  const Choice& choice = request.basis.choice;
  std::vector<std::string> words = choice.select;
  if (!choice.level.empty()) words.insert(words.begin(), choice.level);
  for (const std::string& path : choice.paths) words.push_back("--path " + path);
  return words.empty() ? "smoke" : fmt::format("{}", fmt::join(words, " "));
}

}  // namespace lockstep
