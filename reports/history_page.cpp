#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "record/judged.h"
#include "reports/closing.h"
#include "reports/history.h"
#include "reports/html/assets.h"
#include "reports/markup.h"
#include "reports/text.h"

namespace lockstep {
namespace {

/// The look of a course: as that of a verdict that does the same to a run.
const ColumnInfo& look_of(Course course) {
  constexpr std::array<Column, 3> kLooks = {Column::failing, Column::known, Column::fixed};
  return all_columns()[static_cast<std::size_t>(kLooks[static_cast<std::size_t>(course)])];
}

constexpr double kCellWidth = 10, kCellHeight = 16, kNightGap = 4;

/// What a cell is in a strip: how high, and of which look; what is not known is a line.
struct StripBar {
  double height;
  std::string_view kind;
  std::string_view word;
};
StripBar bar_of(Seen seen) {
  switch (seen) {
    case Seen::shown:
      return {kCellHeight, "failing", "there"};
    case Seen::unstable:
      return {kCellHeight * 0.7, "known", "unstable"};
    case Seen::absent:
      return {kCellHeight * 0.35, "conform", "not there"};
    case Seen::unknown:
      break;
  }
  return {1, "skipped", "not judged"};
}

/// The same words of neighbours are said once: "not there 2.10.0 to 2.12.0, there 2.13.0".
std::string strip_in_words(const History& history, const HistoryRow& row) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; begin < row.cells.size(); begin = end) {
    while (end < row.cells.size() && row.cells[end].seen == row.cells[begin].seen) ++end;
    parts.push_back(
        fmt::format("{} {}", bar_of(row.cells[begin].seen).word, name_of_run(history, begin)));
    if (end - begin > 1) parts.back() += " to " + name_of_run(history, end - 1);
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// A bar for each run, with room where nights are missing.
std::string strip(const History& history, const HistoryRow& row) {
  std::string bars;
  double x = 0;
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (history.runs[i].nights_missing > 0) x += kNightGap;
    const StripBar bar = bar_of(row.cells[i].seen);
    bars += fmt::format(
        "<rect class=\"kind-{}\" x=\"{:.0f}\" y=\"{:.1f}\" width=\"{:.0f}\" "
        "height=\"{:.1f}\"><title>{}: {}, {} of {}</title></rect>",
        bar.kind, x, kCellHeight - bar.height, kCellWidth - 2, bar.height,
        html_text(name_of_run(history, i)), bar.word, counted(row.cells[i].verdicts, "verdict"),
        row.cells[i].judged);
    x += kCellWidth;
  }
  return fmt::format(
      "<svg class=\"strip\" viewBox=\"0 0 {0:.0f} {1:.0f}\" style=\"width: {0:.0f}px\" "
      "role=\"img\" aria-label=\"{2}\">{3}</svg>\n",
      x, kCellHeight, html_text(strip_in_words(history, row)), bars);
}

std::string item(const History& history, const HistoryRow& row, bool is_operator) {
  const ColumnInfo& look = look_of(row.course);
  const HistoryCell& last = row.cells[row.last_bad];
  std::string text = fmt::format(
      "<li class=\"change kind-{}\">{}<div>\n<p class=\"id\"><code>{}</code> <span class=\"about\">"
      "{} of {} judged in {}</span></p>\n{}<p class=\"why\">{}</p>\n",
      look.name, glyph_markup(look.glyph), html_text(row.name), counted(last.verdicts, "verdict"),
      grouped(last.judged), html_text(name_of_run(history, row.last_bad)), strip(history, row),
      html_text(when(history, row)));
  if (!row.known.empty())
    text += fmt::format("<p class=\"why\">known: {}</p>\n", html_text(one_line(row.known, 1000)));
  std::string links;
  for (const std::string& link : row.links) links += link_to(one_line(link, 1000)) + " ";
  if (!links.empty()) text += fmt::format("<p class=\"why\">{}</p>\n", links);
  if (!row.repro.empty()) text += copied_command(row.repro);
  if (!is_operator && row.last_good && !row.fixed_in)
    text += copied_command(bisect_command(history, row));
  return text + "</div></li>\n";
}

/// The rows of one course, or of the operators.
std::string section(const History& history, const std::vector<const HistoryRow*>& rows,
                    std::string_view id, std::string_view title, std::string_view meaning,
                    std::size_t room, bool is_operator) {
  if (rows.empty()) return {};
  const ColumnInfo& look = look_of(rows.front()->course);
  std::string text = fmt::format(
      "<section id=\"{}\" class=\"kind-{}\">\n<h2>{}{} <span class=\"count\">{}</span></h2>\n"
      "<p class=\"meaning\">{}.</p>\n<ul>\n",
      id, look.name, glyph_markup(look.glyph), title, grouped(rows.size()), meaning);
  std::size_t told = 0;
  for (const HistoryRow* row : rows) {
    std::string next = item(history, *row, is_operator);
    if (text.size() + next.size() > room) break;
    text += next;
    ++told;
  }
  text += "</ul>\n";
  if (told < rows.size())
    text += fmt::format("<p>{}, which <code>history --json</code> has</p>\n",
                        and_more(rows.size() - told));
  return text + "</section>\n";
}

/// A chart over the runs: a bar for each value, from the least that is shown.
struct HistoryChart {
  std::string_view title, kind;
  std::vector<std::optional<double>> values;
  std::string (*text)(double);
  double least = 0;
};

std::string drawn(const History& history, const HistoryChart& chart) {
  constexpr double kChartWidth = 400, kChartHeight = 90, kLabelHeight = 18;
  double most = chart.least;
  std::optional<std::size_t> lowest, highest;
  for (std::size_t i = 0; i < chart.values.size(); ++i) {
    if (!chart.values[i]) continue;
    most = std::max(most, *chart.values[i]);
    if (!lowest || *chart.values[i] < *chart.values[*lowest]) lowest = i;
    if (!highest || *chart.values[i] > *chart.values[*highest]) highest = i;
  }
  if (!lowest) return {};
  const double step = kChartWidth / static_cast<double>(chart.values.size());
  std::string bars;
  for (std::size_t i = 0; i < chart.values.size(); ++i) {
    if (!chart.values[i]) continue;
    const double share =
        most > chart.least ? (*chart.values[i] - chart.least) / (most - chart.least) : 0;
    const double height = 1.5 + (kChartHeight - 1.5) * std::clamp(share, 0.0, 1.0);
    bars += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">"
        "<title>{}: {}</title></rect>\n",
        step * static_cast<double>(i) + step * 0.1, kLabelHeight + kChartHeight - height,
        std::min(step * 0.8, 60.0), height, html_text(name_of_run(history, i)),
        html_text(chart.text(*chart.values[i])));
  }
  const auto said = [&](std::size_t place) {
    return fmt::format("{} in {}", chart.text(*chart.values[place]), name_of_run(history, place));
  };
  const std::string words =
      fmt::format("{}: least {}, most {}", chart.title, said(*lowest), said(*highest));
  return fmt::format(
      "<figure class=\"flow chart kind-{}\"><svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n<text x=\"0\" y=\"12\">{}</text>\n{}<text class=\"axis\" x=\"0\" "
      "y=\"{:.0f}\">{}</text><text class=\"axis\" x=\"{:.0f}\" y=\"{:.0f}\" "
      "text-anchor=\"end\">{}</text></svg><figcaption>{}</figcaption></figure>\n",
      chart.kind, kChartWidth, kLabelHeight * 2 + kChartHeight, html_text(words),
      html_text(chart.text(most)), bars, kLabelHeight * 2 + kChartHeight - 4,
      html_text(cut_columns(name_of_run(history, 0), 24)), kChartWidth,
      kLabelHeight * 2 + kChartHeight - 4,
      html_text(cut_columns(name_of_run(history, history.runs.size() - 1), 24)), html_text(words));
}

/// As rate_text has it.
std::string percent_text(double value) {
  return fmt::format("{:.1f} %", std::max(std::floor(10 * value + 1e-6), value > 0 ? 1.0 : 0) / 10);
}
std::string count_text(double value) { return grouped(static_cast<std::uint64_t>(value)); }

std::string charts(const History& history) {
  HistoryChart conform{"Conform of what was judged", "conform", {}, percent_text},
      failing{"Failing verdicts", "failing", {}, count_text},
      seconds{"Time of the run", "skipped", {}, format_seconds};
  double least = 100;
  for (const HistoryRun& run : history.runs) {
    std::optional<double> rate;
    if (run.judged > 0)
      rate =
          100 * static_cast<double>(run.tally[Column::conform]) / static_cast<double>(run.judged);
    conform.values.push_back(rate);
    least = std::min(least, rate.value_or(100));
    failing.values.emplace_back(static_cast<double>(run.tally[Column::failing]));
    seconds.values.push_back(run.run.end ? std::optional(run.run.end->seconds) : std::nullopt);
  }
  conform.least = std::max(0.0, std::floor(least) - 1);
  return fmt::format("<div class=\"charts\">\n{}{}{}</div>\n", drawn(history, conform),
                     drawn(history, failing), drawn(history, seconds));
}

std::string run_table(const History& history) {
  std::string rows;
  for (std::size_t i = 0; i < history.runs.size(); ++i) {
    const HistoryRun& run = history.runs[i];
    std::vector<std::string> notes = run.unlike;
    if (!run.whole) notes.insert(notes.begin(), "it did not come to its end");
    if (run.nights_missing > 0)
      notes.insert(notes.begin(),
                   counted(run.nights_missing, "night") + " without a run before it");
    rows += fmt::format(
        "<tr{}><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td class=\"notes\">{}</td></tr>\n",
        run.unlike.empty() && run.whole ? "" : " class=\"differs\"",
        html_text(name_of_run(history, i)), html_text(run.run.info.started.substr(0, 10)),
        rate_text(run.tally[Column::conform], run.judged), grouped(run.tally[Column::failing]),
        grouped(run.tally[Column::known]), run.run.end ? format_seconds(run.run.end->seconds) : "–",
        html_text(one_line(fmt::format("{}", fmt::join(notes, "; ")), 1000)));
  }
  std::string head;
  for (const std::string_view each :
       {"torch", "day", "conform", "failing", "known", "time", "not like the run before"})
    head += fmt::format("<th scope=\"col\">{}</th>", each);
  return fmt::format(
      "<div class=\"wide\"><table class=\"setting-table\"><caption>The runs</caption>\n"
      "<thead><tr>{}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
      head, rows);
}

}  // namespace

std::string history_page(const History& history, std::size_t limit) {
  constexpr std::array<std::string_view, 3> kMeanings = {
      "it is there in the latest run that could show it",
      "it comes and goes, or only some executions show it",
      "the latest run that could show it "
      "does not"};
  std::string counts, sections;
  for (const Course course : {Course::open, Course::flaky, Course::fixed}) {
    std::vector<const HistoryRow*> rows;
    for (const HistoryRow& row : history.fingerprints) {
      if (row.course == course) rows.push_back(&row);
    }
    const std::string_view name = name_of(course);
    counts +=
        fmt::format("<a class=\"figure kind-{0}\" href=\"#{1}\"><b>{2}</b> <span>{1}</span></a>\n",
                    look_of(course).name, name, grouped(rows.size()));
    sections += section(history, rows, name, name, kMeanings[static_cast<std::size_t>(course)],
                        limit - std::min(limit, sections.size()), false);
  }
  std::vector<const HistoryRow*> operators;
  for (const HistoryRow& row : history.operators) operators.push_back(&row);
  sections += section(history, operators, "operators", "operators",
                      "whom a fingerprint accuses, of the verdicts whose program has it",
                      limit - std::min(limit, sections.size()), true);
  const bool any_open =
      !history.fingerprints.empty() && history.fingerprints.front().course == Course::open;
  const ColumnInfo& look =
      all_columns()[static_cast<std::size_t>(any_open ? Column::failing : Column::conform)];
  const std::string first = name_of_run(history, 0),
                    last = name_of_run(history, history.runs.size() - 1);
  return filled(
      html_assets::gate_page,
      {{"title", "Lockstep: " + html_text(first) + " to " + html_text(last)},
       {"style", fmt::format("{}{}", html_assets::style, html_assets::gate_style)},
       {"script", std::string(html_assets::gate_script)},
       {"about", "over time"},
       {"kind", std::string(look.name)},
       {"glyph", glyph_markup(look.glyph)},
       {"gate", html_text(first) + " to " + html_text(last)},
       {"outcome", fmt::format("{} in {}", counted(history.fingerprints.size(), "fingerprint"),
                               counted(history.runs.size(), "run"))},
       {"flow", charts(history)},
       {"setting", run_table(history)},
       {"counts", counts},
       {"sections", sections.empty() ? "<p>Nothing was found in any run.</p>\n" : sections}});
}

}  // namespace lockstep
