#include "reports/html.h"

#include <fmt/format.h>

#include <future>
#include <map>
#include <string_view>

#include "base/text.h"
#include "reports/by_path.h"
#include "reports/closing.h"
#include "reports/html/assets.h"
#include "reports/markup.h"
#include "reports/story.h"
#include "reports/text.h"

namespace lockstep {
namespace {

/// Without scripts the page lists this many verdicts that fail, this many known ones, and so on;
/// the log has all.
constexpr std::size_t kListed = 200;

std::string table_of(const RunRecord& record) {
  std::string text =
      "<table><caption>Verdicts by path</caption><thead><tr><th scope=\"col\">path</th>";
  for (const ColumnInfo* column : columns_as_read())
    text += fmt::format("<th scope=\"col\">{}</th>", column->name);
  text += "</tr></thead><tbody>\n";
  for (const auto& [path, counts] : tally_by_path(record, false)) {
    text += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(path));
    for (const ColumnInfo* column : columns_as_read())
      text += fmt::format("<td>{}</td>", grouped(counts[column->column]));
    text += "</tr>\n";
  }
  return text + "</tbody></table>\n";
}

/// What fails, is fixed, known or waived, with boxes that choose among them and among the paths by
/// a style sheet alone.
std::string plain_list(const RunRecord& record) {
  struct Listed {
    std::string items;
    std::size_t count = 0;
  };
  std::map<Column, Listed> columns;
  std::map<std::string, std::size_t> paths;
  for (const Verdict& verdict : record.verdicts) {
    const Column column = column_of(verdict, false);
    if (column == Column::conform || column == Column::skipped) continue;
    const std::string_view name = all_columns()[static_cast<std::size_t>(column)].name;
    Listed& listed = columns[column];
    if (++listed.count > kListed) continue;
    const std::size_t path = paths.emplace(verdict.facts.path, paths.size()).first->second;
    listed.items += fmt::format(
        "<li class=\"kind-{0} show-{0} show-path-{1}\"><strong>{2}</strong> {0} <code>{3}</code>"
        "<br>{4}",
        name, path, info(verdict.found.status).label, html_text(verdict.facts.id),
        html_text(headline(verdict)));
    if (verdict.account.expectation) {
      const ExpectationRef& known = *verdict.account.expectation;
      listed.items += fmt::format("<br>{}", html_text(known.reason));
      if (known.link.starts_with("https://")) listed.items += " " + link_to(known.link);
    }
    listed.items += fmt::format("<br><code>{}</code></li>\n", html_text(verdict.origin.repro));
  }
  if (columns.empty()) return {};
  std::string rules, boxes, items;
  const auto add_box = [&](const std::string& mark, const std::string& label) {
    rules += fmt::format("#{0}:not(:checked) ~ ul .{0} {{ display: none }}\n", mark);
    boxes += fmt::format(
        "<input type=\"checkbox\" id=\"{0}\" checked>&nbsp;<label for=\"{0}\">{1}</label>\n", mark,
        label);
  };
  for (const ColumnInfo& column : all_columns()) {
    const auto found = columns.find(column.column);
    if (found == columns.end()) continue;
    const auto& [text, count] = found->second;
    const std::string mark = fmt::format("show-{}", column.name);
    add_box(mark, fmt::format("{} {}", grouped(count), column.name));
    items += text;
    if (count > kListed)
      items += fmt::format("<li class=\"{}\">{} {}</li>\n", mark, and_more(count - kListed),
                           column.name);
  }
  if (paths.size() > 1) {
    boxes += "<br>\n";
    for (const auto& [path, place] : paths)
      add_box(fmt::format("show-path-{}", place), html_text(path));
  }
  return fmt::format("<style>\n{}</style>\n<div class=\"boxes\">\n{}<ul>\n{}</ul>\n</div>\n", rules,
                     boxes, items);
}

/// What is readable without scripts: Jenkins, for one, forbids them in artefacts.
std::string plain_part(const RunRecord& record) {
  std::string text = table_of(record);
  for (const std::string& line : {unfinished_line(record), judged_too_little(record, false)})
    if (!line.empty()) text += fmt::format("<p>{}</p>\n", html_text(line));
  return text + plain_list(record);
}

}  // namespace

std::string html(const RunRecord& record, const std::filesystem::path& page,
                 const PageSizes& sizes) {
  const Tally counts = tally(record, false);
  // In a thread, which has memory of its own: a log that was read leaves that of this one in
  // millions of pieces, and to find one among them takes longer than all the rest. With no policy
  // named, std::async makes it here where no thread can be had: reading may have little memory.
  const std::string data = std::async([&] { return page_data(record, page, sizes); }).get();
  return filled(
      html_assets::page,
      {{"title",
        html_text(fmt::format("Lockstep: {} failing of {}", grouped(counts[Column::failing]),
                              counted(record.verdicts.size(), "verdict")))},
       {"totals", html_text(totals_line(record, false, record.end ? record.end->seconds : 0))},
       {"style", std::string(html_assets::style)},
       {"script", std::string(html_assets::script)},
       {"plain", plain_part(record)},
       {"data", data}});
}

}  // namespace lockstep
