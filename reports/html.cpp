#include "reports/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "record/judged.h"
#include "reports/accuracy.h"
#include "reports/by_path.h"
#include "reports/closing.h"
#include "reports/explain.h"
#include "reports/gzip.h"
#include "reports/html/assets.h"
#include "reports/json.h"
#include "reports/text.h"

namespace lockstep {
namespace {

/// Without scripts the page lists this many of what fails; all of it is in the log.
constexpr std::size_t kListed = 200;

std::string escape(std::string_view raw) {
  std::string result;
  for (const char c : clean(raw)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

/// Takes out of the verdicts what several of them repeat (the case's program, the proof of a path),
/// and puts it there once: `common` of a verdict maps such a key to a place in `common` of the
/// document.
void share(Json& document) {
  Json common = Json::array();
  std::unordered_map<std::string, std::size_t> places;
  for (Json& verdict : document["verdicts"]) {
    Json references = Json::object();
    for (const char* key : {"title", "case_file", "links", "program", "tags", "operators", "dtypes",
                            "proof", "expectation", "stderr_tail"}) {
      const auto found = verdict.find(key);
      if (found == verdict.end()) continue;
      std::string text = found->dump(-1, ' ', false, Json::error_handler_t::replace);
      if (text.size() < 24) continue;
      const auto [place, is_new] = places.emplace(std::move(text), common.size());
      if (is_new) common.push_back(std::move(*found));
      references[key] = place->second;
      verdict.erase(key);
    }
    if (!references.empty()) verdict["common"] = std::move(references);
  }
  document["common"] = std::move(common);
}

/// JSON that can stand inside <script>: without "<" nothing in it can end the element or begin a
/// comment.
std::string data_of(const RunRecord& record) {
  Json document = run_document(record);
  share(document);
  if (const AccuracyTable table = accuracy_table(record); !table.rows.empty())
    document["accuracy"] = accuracy_document(table);
  Json& statuses = document["statuses"] = Json::array();
  for (const StatusInfo& status : all_statuses()) {
    statuses.push_back({{"name", status.name},
                        {"label", status.label},
                        {"fails", status.fails},
                        {"fails_strict", status.fails_strict},
                        {"junit", name_of(status.junit)},
                        {"departs", status.departs()},
                        {"meaning", status.meaning}});
  }
  Json& standings = document["standings"] = Json::array();
  for (const StandingInfo& standing : all_standings()) {
    Json row = {{"name", standing.name}};
    if (standing.fails) row["fails"] = *standing.fails;
    if (standing.fails_strict) row["fails_strict"] = *standing.fails_strict;
    standings.push_back(std::move(row));
  }
  Json& kinds = document["kinds"] = Json::array();
  for (const ColumnInfo& column : all_columns()) {
    kinds.push_back({{"name", column.name},
                     {"glyph", column.glyph},
                     {"always", column.always},
                     {"meaning", column.meaning}});
  }
  document["grades"] = grade_names();
  document["input_kinds"] = kInputKinds;
  document["judged_too_little"] = judged_too_little(record, false);
  const std::string json = document.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string result;
  result.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    if (c == '<') {
      result += "\\u003c";
    } else {
      result += c;
    }
  }
  return result;
}

std::string table_of(const RunRecord& record) {
  std::string text =
      "<table><caption>Verdicts by path</caption><thead><tr><th scope=\"col\">path</th>";
  for (const ColumnInfo* column : columns_as_read())
    text += fmt::format("<th scope=\"col\">{}</th>", column->name);
  text += "</tr></thead><tbody>\n";
  for (const auto& [path, counts] : tally_by_path(record, false)) {
    text += fmt::format("<tr><th scope=\"row\">{}</th>", escape(path));
    for (const ColumnInfo* column : columns_as_read())
      text += fmt::format("<td>{}</td>", grouped(counts[column->column]));
    text += "</tr>\n";
  }
  return text + "</tbody></table>\n";
}

/// What is readable without scripts: Jenkins, for one, forbids them in artefacts.
std::string plain_part(const RunRecord& record) {
  std::string text = table_of(record);
  for (const std::string& line : {unfinished_line(record), judged_too_little(record, false)})
    if (!line.empty()) text += fmt::format("<p>{}</p>\n", escape(line));
  std::size_t failing = 0;
  std::string items;
  for (const Verdict& verdict : record.verdicts) {
    if (!verdict.fails(false) || ++failing > kListed) continue;
    items += fmt::format("<li><strong>{}</strong> <code>{}</code><br>{}<br><code>{}</code></li>\n",
                         info(verdict.status).label, escape(verdict.id), escape(headline(verdict)),
                         escape(verdict.repro));
  }
  if (failing == 0) return text;
  text += fmt::format("<h2>Failing</h2>\n<ul>\n{}</ul>\n", items);
  if (failing > kListed) text += fmt::format("<p>and {} more</p>\n", grouped(failing - kListed));
  return text;
}

}  // namespace

std::string html(const RunRecord& record, std::size_t compress_from) {
  const Tally counts = tally(record, false);
  const std::string data = data_of(record);
  const bool compressed = data.size() >= compress_from;
  const std::map<std::string_view, std::string> parts = {
      {"title", escape(fmt::format("Lockstep: {} failing of {}", grouped(counts[Column::failing]),
                                   counted(record.verdicts.size(), "verdict")))},
      {"totals", escape(totals_line(record, false, record.end ? record.end->seconds : 0))},
      {"style", std::string(html_assets::style)},
      {"script", std::string(html_assets::script)},
      {"plain", plain_part(record)},
      {"type", compressed ? "application/gzip" : "application/json"},
      {"data", compressed ? base64(gzip(data)) : data},
  };
  // One pass: what is put in is never looked at again, so it may contain "{{data}}" itself.
  std::string result;
  std::string_view rest = html_assets::page;
  while (true) {
    const std::size_t begin = rest.find("{{");
    const std::size_t end = rest.find("}}", begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    result += rest.substr(0, begin);
    if (const auto part = parts.find(rest.substr(begin + 2, end - begin - 2));
        part != parts.end()) {
      result += part->second;
    }
    rest.remove_prefix(end + 2);
  }
  return result += rest;
}

}  // namespace lockstep
