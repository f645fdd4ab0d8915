#include "record/history.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <tuple>

#include "base/text.h"
#include "record/alike.h"
#include "record/fingerprints.h"
#include "record/unlike.h"
#include "verdict/fingerprint.h"

namespace lockstep {
namespace {

/// A version, so that the older one is less: numbers, what comes before a release, and the day or
/// the number of that.
using VersionKey = std::tuple<std::array<long, 3>, int, long>;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

long number_at(std::string_view text, std::size_t& at) {
  long number = 0;
  for (int digits = 0; at < text.size() && is_digit(text[at]) && digits < 9; ++at, ++digits)
    number = number * 10 + (text[at] - '0');
  return number;
}

VersionKey key_of(std::string_view torch) {
  torch = torch.substr(0, torch.find('+'));
  std::array<long, 3> numbers{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < numbers.size() && at < torch.size() && is_digit(torch[at]); ++i) {
    numbers[i] = number_at(torch, at);
    if (at + 1 < torch.size() && torch[at] == '.' && is_digit(torch[at + 1])) ++at;
  }
  std::string_view rest = torch.substr(at);
  if (rest.starts_with('.')) rest.remove_prefix(1);
  std::size_t of_number = rest.find_first_of("0123456789");
  const long number = of_number == std::string_view::npos ? 0 : number_at(rest, of_number);
  const int stage = rest.empty()              ? 4
                    : rest.starts_with("dev") ? 0
                    : rest.starts_with('a')   ? 1
                    : rest.starts_with('b')   ? 2
                                              : 3;
  return {numbers, stage, number};
}

/// The day of a nightly, 20261120, as a number of days; empty for other versions.
std::optional<long> day_of(std::string_view torch) {
  const auto [numbers, stage, number] = key_of(torch);
  if (stage != 0 || number < 20000101 || number > 99991231) return std::nullopt;
  const std::chrono::year_month_day day(
      std::chrono::year(static_cast<int>(number / 10000)),
      std::chrono::month(static_cast<unsigned>(number / 100 % 100)),
      std::chrono::day(static_cast<unsigned>(number % 100)));
  if (!day.ok()) return std::nullopt;
  return std::chrono::sys_days(day).time_since_epoch().count();
}

bool is_bad(Seen seen) { return seen == Seen::shown || seen == Seen::unstable; }

/// Whether runs of one torch, made alike, disagree.
bool disagrees_with_itself(const HistoryRow& row, const std::vector<HistoryRun>& runs) {
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const bool same = runs[i].torch == runs[i - 1].torch && runs[i].unlike.empty() &&
                      said_by(runs[i].run.environment, "eager", "torch_git") ==
                          said_by(runs[i - 1].run.environment, "eager", "torch_git");
    const Seen was = row.cells[i - 1].seen, is = row.cells[i].seen;
    if (same && was != Seen::unknown && is != Seen::unknown && is_bad(was) != is_bad(is))
      return true;
  }
  return false;
}

/// Reads the course of a row out of its cells.
void settle(HistoryRow& row, const std::vector<HistoryRun>& runs) {
  std::size_t came = 0;
  std::optional<std::size_t> good;  // the last one so far, since it was bad
  bool was_bad = false, unstable = false, any = false;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const Seen seen = row.cells[i].seen;
    if (seen == Seen::unknown) continue;
    unstable = unstable || seen == Seen::unstable;
    if (is_bad(seen)) {
      if (!was_bad) {
        came += any ? 1 : 0;
        row.first_bad = i;
        row.last_good = good;
      }
      row.last_bad = i;
      row.fixed_in.reset();
    } else {
      if (was_bad) row.fixed_in = i;
      good = i;
    }
    was_bad = is_bad(seen);
    any = true;
  }
  row.course = unstable || came > 1 || disagrees_with_itself(row, runs) ? Course::flaky
               : row.fixed_in                                           ? Course::fixed
                                                                        : Course::open;
}

void settle_all(std::vector<HistoryRow>& rows, const std::vector<HistoryRun>& runs) {
  for (HistoryRow& row : rows) settle(row, runs);
  std::stable_sort(rows.begin(), rows.end(), [](const HistoryRow& a, const HistoryRow& b) {
    const auto key = [](const HistoryRow& row) {
      const std::size_t latest = row.fixed_in.value_or(row.first_bad);
      return std::tuple(row.course, ~latest, ~row.cells[row.last_bad].verdicts);
    };
    return std::tuple(key(a), std::string_view(a.name)) <
           std::tuple(key(b), std::string_view(b.name));
  });
}

}  // namespace

std::string_view name_of(Course course) {
  constexpr std::array<std::string_view, 3> kNames = {"open", "flaky", "fixed"};
  return kNames[static_cast<std::size_t>(course)];
}

bool is_older(std::string_view torch, std::string_view than) {
  return key_of(torch) < key_of(than);
}

bool is_release(std::string_view torch) {
  return std::get<1>(key_of(torch)) == 4 && !torch.empty() && is_digit(torch.front());
}

bool is_nightly(std::string_view torch) { return day_of(torch).has_value(); }

std::size_t HistoryMaker::number_of(const std::string& id) {
  return numbers_.emplace(id, numbers_.size()).first->second;
}

void HistoryMaker::add_findings(Column& column, const Verdict& verdict, std::size_t number) {
  if (verdict.found.status == Status::conform) return;
  for (const Fingerprint& fingerprint : explained_fingerprints_of(verdict)) {
    Said& said = column.fingerprints[fingerprint.name];
    said.verdicts.push_back(number);
    said.unstable = said.unstable && verdict.found.unstable;
    // The first is as good as any: a smaller one needs the verdict to be held.
    if (said.example.empty() || verdict.facts.id.size() < said.example.size()) {
      said.example = verdict.facts.id;
      said.repro = verdict.origin.repro;
    }
    std::vector<std::string> links = verdict.facts.links;
    if (verdict.account.expectation) {
      if (verdict.account.standing == Standing::known)
        said.known = verdict.account.expectation->reason;
      links.push_back(verdict.account.expectation->link);
    }
    for (std::string& link : links) {
      if (link.starts_with("https://")) said.links.insert(std::move(link));
    }
    for (const std::string& name : accused_by(fingerprint.name))
      column.accused[name].insert(number);
  }
}

bool HistoryMaker::add(const RunRecord& record) {
  const std::string torch = said_by(record.environment, "eager", "torch");
  for (const Column& each : columns_) {
    const RunInfo& info = each.run.run.info;
    if (info.started == record.info.started && info.plan == record.info.plan &&
        each.run.torch == torch)
      return false;
  }
  Column& column = columns_.emplace_back();
  column.run.run.info = record.info;
  column.run.run.environment = record.environment;
  column.run.run.end = record.end;
  column.run.run.directory = record.directory;
  column.run.torch = torch;
  column.run.whole = record.complete();
  column.run.tally = tally(record, false);
  for (const Verdict& verdict : record.verdicts) {
    const std::size_t number = number_of(verdict.facts.id);
    if (!info(verdict.found.status).judged()) continue;
    ++column.run.judged;
    if (column.judged.size() <= number) column.judged.resize(number + 1);
    column.judged[number] = true;
    std::set<std::string> names;
    for (const std::string& each : verdict.facts.operators)
      names.insert(operators_of(std::span(&each, 1), verdict.facts.instance));
    for (const std::string& name : names) ++column.of_operator[name];
    add_findings(column, verdict, number);
  }
  return true;
}

std::vector<HistoryRow> HistoryMaker::fingerprint_rows(
    const std::vector<const Column*>& columns) const {
  std::map<std::string, std::set<std::size_t>> shown_by;  // any run
  for (const Column* column : columns) {
    for (const auto& [name, said] : column->fingerprints)
      shown_by[name].insert(said.verdicts.begin(), said.verdicts.end());
  }
  std::vector<HistoryRow> rows;
  for (const auto& [name, verdicts] : shown_by) {
    HistoryRow& row = rows.emplace_back();
    row.name = name;
    row.operators = accused_by(name);
    for (const Column* column : columns) {
      HistoryCell& cell = row.cells.emplace_back();
      for (const std::size_t each : verdicts)
        cell.judged += each < column->judged.size() && column->judged[each] ? 1 : 0;
      if (cell.judged > 0) cell.seen = Seen::absent;
      const auto said = column->fingerprints.find(name);
      if (said == column->fingerprints.end()) continue;
      cell.verdicts = said->second.verdicts.size();
      cell.seen = said->second.unstable ? Seen::unstable : Seen::shown;
      row.example = said->second.example;
      row.repro = said->second.repro;
      row.known = said->second.known;
      row.links.insert(said->second.links.begin(), said->second.links.end());
    }
  }
  return rows;
}

std::vector<HistoryRow> HistoryMaker::operator_rows(const std::vector<const Column*>& columns) {
  std::set<std::string> names;
  for (const Column* column : columns) {
    for (const auto& [name, verdicts] : column->accused) names.insert(name);
  }
  std::vector<HistoryRow> rows;
  for (const std::string& name : names) {
    HistoryRow& row = rows.emplace_back();
    row.name = name;
    for (const Column* column : columns) {
      HistoryCell& cell = row.cells.emplace_back();
      const auto judged = column->of_operator.find(name);
      const auto accused = column->accused.find(name);
      if (judged != column->of_operator.end()) cell.judged = judged->second;
      if (accused != column->accused.end()) cell.verdicts = accused->second.size();
      cell.judged = std::max(cell.judged, cell.verdicts);
      cell.seen = cell.verdicts > 0 ? Seen::shown : cell.judged > 0 ? Seen::absent : Seen::unknown;
    }
  }
  return rows;
}

History HistoryMaker::history() const {
  std::vector<const Column*> columns;
  for (const Column& each : columns_) columns.push_back(&each);
  std::stable_sort(columns.begin(), columns.end(), [](const Column* a, const Column* b) {
    const auto key = [](const Column* column) {
      return std::tuple(key_of(column->run.torch), column->run.run.info.started);
    };
    return key(a) < key(b);
  });
  History history;
  for (const Column* column : columns) {
    HistoryRun& run = history.runs.emplace_back(column->run);
    if (history.runs.size() < 2) continue;
    const HistoryRun& before = history.runs[history.runs.size() - 2];
    run.unlike = unlike(before.run, run.run);
    const auto day = day_of(run.torch), day_before = day_of(before.torch);
    if (day && day_before && *day > *day_before + 1)
      run.nights_missing = static_cast<std::size_t>(*day - *day_before - 1);
  }
  history.fingerprints = fingerprint_rows(columns);
  history.operators = operator_rows(columns);
  settle_all(history.fingerprints, history.runs);
  settle_all(history.operators, history.runs);
  return history;
}

}  // namespace lockstep
