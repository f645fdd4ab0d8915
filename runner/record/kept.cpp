#include "record/kept.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>

#include "base/files.h"
#include "base/gzip.h"
#include "base/text.h"
#include "record/alike.h"
#include "record/history.h"
#include "record/log.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPacked = ".jsonl.gz";
constexpr std::size_t kLongestTorch = 60;

void reduce(Verdict& verdict) {
  CaseFacts& facts = verdict.facts;
  Findings& found = verdict.found;
  facts.title.clear();
  facts.case_file.clear();
  facts.program.clear();
  facts.reference.clear();
  found.proof = {};
  found.execution.reset();
  found.eager_digest.clear();
  const double seconds = std::round(verdict.origin.seconds * 100) / 100;
  std::string repro = std::move(verdict.origin.repro);
  verdict.origin = {};
  verdict.origin.seconds = seconds;
  if (found.status != Status::conform)
    verdict.origin.repro = std::move(repro);
  else
    facts.links.clear();
  for (OutputComparison& output : found.outputs) {
    output.heat.reset();
    output.first.clear();
    output.accuracy.clear();
    output.error_curve.reset();
    output.ulp_histogram.clear();
    output.tensors.clear();
  }
}

/// What the name of a log says: "2026-11-26T01-44-56Z_2.13.0+cpu_ab12cd34.jsonl.gz".
struct NameOfLog {
  long day = 0;  ///< since 1970
  std::string torch;
};

std::optional<NameOfLog> read_name(const fs::path& log) {
  const std::string name = log.filename().string();
  int year = 0;
  unsigned month = 0, day = 0;
  const auto number = [&](std::size_t at, std::size_t size, auto& into) {
    const char* const end = name.data() + at + size;
    return name.size() > at + size && std::from_chars(name.data() + at, end, into).ptr == end;
  };
  if (!number(0, 4, year) || !number(5, 2, month) || !number(8, 2, day)) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  const std::size_t begin = name.find('_'), end = name.rfind('_');
  if (!date.ok() || begin == std::string::npos || begin == end) return std::nullopt;
  return NameOfLog{std::chrono::sys_days(date).time_since_epoch().count(),
                   name.substr(begin + 1, end - begin - 1)};
}

}  // namespace

RunRecord kept(RunRecord record) {
  for (Verdict& verdict : record.verdicts) reduce(verdict);
  return record;
}

Result<fs::path> put_into_store(const fs::path& store, const RunRecord& record) {
  std::string torch = said_by(record.environment, "eager", "torch").substr(0, kLongestTorch);
  std::string time = record.info.started.substr(0, 20);
  const auto plain = [](std::string& text, std::string_view others) {
    for (char& c : text) {
      const bool stays = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                         others.find(c) != std::string_view::npos;
      if (!stays) c = '-';
    }
  };
  plain(torch, ".+");
  plain(time, "");
  std::string plan = record.info.plan.substr(0, 8);
  plain(plan, "");
  const fs::path file =
      store / fmt::format("{}_{}_{}{}", time, torch.empty() ? "none" : torch, plan, kPacked);
  std::error_code error;
  if (fs::exists(file, error)) return file;
  fs::create_directories(store, error);
  if (error) return fail(fmt::format("cannot make {}: {}", store.string(), error.message()));
  if (auto written = write_file(file, gzip(log_text(kept(record)))); !written)
    return tl::unexpected(written.error());
  return file;
}

std::vector<fs::path> logs_of_store(const fs::path& store) { return files_below(store, kPacked); }

std::vector<fs::path> may_go(const std::vector<fs::path>& logs, int days) {
  long latest = 0;
  for (const fs::path& log : logs) {
    if (const auto name = read_name(log)) latest = std::max(latest, name->day);
  }
  std::vector<fs::path> go;
  std::set<long> weeks;  // that have one already
  std::vector<fs::path> sorted = logs;
  std::sort(sorted.begin(), sorted.end());
  for (const fs::path& log : sorted) {
    const auto name = read_name(log);
    if (!name || is_release(name->torch)) continue;  // what nobody has put there stays, too
    const bool first_of_week =
        weeks.insert((name->day + 3) / 7).second;  // 1970 began on a Thursday
    if (latest - name->day > days && !first_of_week) go.push_back(log);
  }
  return go;
}

}  // namespace lockstep
