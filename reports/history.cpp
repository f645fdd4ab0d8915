#include "reports/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/launcher.h"
#include "base/text.h"
#include "record/alike.h"
#include "record/judged.h"
#include "reports/closing.h"
#include "reports/text.h"

namespace lockstep {
namespace {

/// What a run was asked for: its level, or its words.
std::string asked_of(const RunInfo& info) {
  if (!info.level.empty()) return info.level;
  std::vector<std::string> words(info.arguments.begin() + (info.arguments.empty() ? 0 : 1),
                                 info.arguments.end());
  return one_line(fmt::format("{}", fmt::join(words, " ")), 200);
}

std::string_view name_of(Seen seen) {
  constexpr std::string_view kNames[] = {"unknown", "absent", "unstable", "shown"};
  return kNames[static_cast<std::size_t>(seen)];
}

Json run_json(const HistoryRun& run) {
  Json counts = Json::object();
  for (const ColumnInfo& column : all_columns())
    counts[std::string(column.name)] = run.tally[column.column];
  Json json = {{"torch", run.torch},
               {"torch_git", said_by(run.run.environment, "eager", "torch_git")},
               {"started", run.run.info.started},
               {"asked", asked_of(run.run.info)},
               {"lockstep", run.run.info.version},
               {"cpu", said_by(run.run.environment, "machine", "cpu")},
               {"whole", run.whole},
               {"judged", run.judged},
               {"counts", std::move(counts)}};
  if (run.run.end) json["seconds"] = run.run.end->seconds;
  if (!run.unlike.empty()) json["unlike"] = run.unlike;
  if (run.nights_missing > 0) json["nights_missing"] = run.nights_missing;
  return json;
}

Json row_json(const History& history, const HistoryRow& row) {
  Json cells = Json::array();
  for (const HistoryCell& cell : row.cells)
    cells.push_back(
        {{"seen", name_of(cell.seen)}, {"verdicts", cell.verdicts}, {"judged", cell.judged}});
  const auto at = [&](std::size_t place) {
    return Json{{"run", place}, {"torch", history.runs[place].torch}};
  };
  Json json = {
      {"name", row.name}, {"course", name_of(row.course)}, {"first_bad", at(row.first_bad)}};
  if (row.last_good) json["last_good"] = at(*row.last_good);
  json["last_bad"] = at(row.last_bad);
  if (row.fixed_in) json["fixed_in"] = at(*row.fixed_in);
  if (!row.operators.empty()) json["operators"] = row.operators;
  if (!row.example.empty()) json["example"] = row.example;
  if (!row.repro.empty()) json["repro"] = row.repro;
  if (!row.known.empty()) json["known"] = row.known;
  if (!row.links.empty()) json["links"] = row.links;
  json["cells"] = std::move(cells);
  return json;
}

std::string row_text(const History& history, const HistoryRow& row, const Style& style) {
  const std::string course(name_of(row.course));
  const std::string look = row.course == Course::open    ? style.bad(course)
                           : row.course == Course::flaky ? style.odd(course)
                                                         : style.good(course);
  std::string text = fmt::format(
      "{}{}  {}  {}", look, std::string(5 - std::min<std::size_t>(5, course.size()), ' '),
      one_line(clean(row.name), 200), style.faint(clean(when(history, row))));
  if (!row.known.empty()) text += "\n       known: " + one_line(clean(row.known), 400);
  for (const std::string& link : row.links) text += "\n       " + one_line(clean(link), 400);
  return text + "\n";
}

}  // namespace

std::string name_of_run(const History& history, std::size_t place) {
  const HistoryRun& run = history.runs[place];
  const auto same = std::count_if(history.runs.begin(), history.runs.end(),
                                  [&](const HistoryRun& each) { return each.torch == run.torch; });
  const std::string torch = run.torch.empty() ? "no torch" : run.torch;
  return same < 2 ? torch : fmt::format("{} of {}", torch, run.run.info.started.substr(0, 10));
}

std::string when(const History& history, const HistoryRow& row) {
  const auto name = [&](std::size_t place) { return name_of_run(history, place); };
  std::string text =
      row.last_good ? fmt::format("since {}, good in {}", name(row.first_bad), name(*row.last_good))
                    : fmt::format("from {} on", name(row.first_bad));
  if (row.fixed_in)
    text += fmt::format("; last in {}, fixed in {}", name(row.last_bad), name(*row.fixed_in));
  else if (row.last_bad + 1 < row.cells.size())
    text += fmt::format("; not judged after {}", name(row.last_bad));
  return text;
}

std::string bisect_command(const History& history, const HistoryRow& row) {
  return fmt::format("{} bisect {} {} {}", launcher(), shell_quote(row.name),
                     shell_quote(history.runs[*row.last_good].torch),
                     shell_quote(history.runs[row.first_bad].torch));
}

std::string history_text(const History& history, const Style& style, bool all) {
  std::size_t width = 5;
  for (std::size_t i = 0; i < history.runs.size(); ++i)
    width = std::max(width, clean(name_of_run(history, i)).size());
  std::string text = style.strong(fmt::format("{:<{}}  {:>8}  {:>7}  {:>7}  {:>10}\n", "torch",
                                              width, "conform", "failing", "known", "time"));
  for (std::size_t i = 0; i < history.runs.size(); ++i) {
    const HistoryRun& run = history.runs[i];
    text += fmt::format("{:<{}}  {:>8}  {:>7}  {:>7}  {:>10}{}\n", clean(name_of_run(history, i)),
                        width, rate_text(run.tally[Column::conform], run.judged),
                        run.tally[Column::failing], run.tally[Column::known],
                        run.run.end ? format_seconds(run.run.end->seconds) : "–",
                        run.whole ? "" : "  not whole");
    if (run.nights_missing > 0)
      text += style.faint(
          fmt::format("    {} without a run before it\n", counted(run.nights_missing, "night")));
    for (const std::string& line : run.unlike)
      text += style.faint("    " + one_line(clean(line), 200) + "\n");
  }
  text += "\n";
  std::size_t left_out = 0, counts[3] = {};
  for (const HistoryRow& row : history.fingerprints) {
    ++counts[static_cast<std::size_t>(row.course)];
    if (row.course == Course::fixed && !all)
      ++left_out;
    else
      text += row_text(history, row, style);
  }
  if (left_out > 0)
    text += style.faint(fmt::format("{} that are fixed: -v lists them\n", and_more(left_out)));
  return text + fmt::format("{}: {} open, {} flaky, {} fixed in {}\n",
                            counted(history.fingerprints.size(), "fingerprint"), counts[0],
                            counts[1], counts[2], counted(history.runs.size(), "run"));
}

Json history_json(const History& history) {
  Json runs = Json::array(), fingerprints = Json::array(), operators = Json::array();
  for (const HistoryRun& run : history.runs) runs.push_back(run_json(run));
  for (const HistoryRow& row : history.fingerprints) fingerprints.push_back(row_json(history, row));
  for (const HistoryRow& row : history.operators) operators.push_back(row_json(history, row));
  return {{"format", 1},
          {"runs", std::move(runs)},
          {"fingerprints", std::move(fingerprints)},
          {"operators", std::move(operators)}};
}

}  // namespace lockstep
