#include "reports/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/gzip.h"
#include "base/json.h"
#include "base/parallel.h"
#include "base/text.h"
#include "record/judged.h"
#include "reports/accuracy.h"
#include "reports/by_path.h"
#include "reports/closing.h"
#include "reports/html/assets.h"
#include "reports/json.h"
#include "reports/marks.h"
#include "reports/markup.h"
#include "reports/story.h"
#include "reports/text.h"
#include "reports/tolerated.h"
#include "reports/words.h"

namespace lockstep {
namespace {

/// Without scripts the page lists this many verdicts that fail, this many known ones, and so on;
/// the log has all.
constexpr std::size_t kListed = 200;

/// What lists, filters and counts read of a verdict.  The page decodes it when it is opened, and
/// the rest of a verdict when somebody looks at it.
constexpr std::array kColumns = {
    "id",       "instance",  "path",      "device",      "title",        "status",
    "standing", "grade",     "reason",    "nearer",      "fingerprints", "tags",
    "dtypes",   "operators", "unstable",  "vacuous",     "weak",         "foreign_fraction",
    "seconds",  "stage",     "execution", "expectation", "front_end"};

/// The rest stands in blocks of so many verdicts, each compressed by itself.
constexpr std::size_t kBlock = 256;

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

/// One key of many verdicts: each value once, and for each verdict its place, -1 where it has none.
struct ValueColumn {
  Json values = Json::array();
  Json places = Json::array();
  std::unordered_map<std::string, std::size_t> known;

  void add(Json value) {
    const auto [place, is_new] = known.emplace(dumped(value), values.size());
    if (is_new) values.push_back(std::move(value));
    places.push_back(place->second);
  }
  void add_none() { places.push_back(-1); }
  Json json() { return {{"values", std::move(values)}, {"places", std::move(places)}}; }
};

/// What the list shows, sorts and searches of all verdicts, which it sees one at a time: together
/// they are much memory.
class Columns {
 public:
  void add(const Verdict& verdict, const Json& json) {
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      const auto found = json.find(kColumns[i]);
      if (found == json.end()) {
        columns_[i].add_none();
      } else {
        columns_[i].add(*found);
      }
    }
    derive(verdict, json);
  }

  Json columns() {
    Json columns = Json::object();
    for (std::size_t i = 0; i < kColumns.size(); ++i) {
      if (!columns_[i].values.empty()) columns[kColumns[i]] = columns_[i].json();
    }
    return columns;
  }

  /// What is made of outputs and errors.
  Json derived() {
    return {{"tolerated", passed_.json()},
            {"ulps", ulps_.json()},
            {"errors", errors_.json()},
            {"marks", marks_.json()}};
  }

 private:
  void derive(const Verdict& verdict, const Json& json) {
    const OutputComparison* worst = tolerated(verdict).output;
    if (worst == nullptr) {
      passed_.add_none();
    } else {
      const Json& output =
          json["outputs"][static_cast<std::size_t>(worst - verdict.found.outputs.data())];
      Json shown = Json::object();
      for (const char* key :
           {"name", "differing", "elements", "max_abs", "max_rel", "max_ulp", "policy"})
        if (output.contains(key)) shown[key] = output[key];
      passed_.add(std::move(shown));
    }
    std::uint64_t greatest = 0;
    for (const OutputComparison& output : verdict.found.outputs)
      greatest = std::max<std::uint64_t>(greatest, output.max_ulp.value_or(0));
    ulps_.add(greatest);
    marks_.add(marks_of(verdict));
    std::string classes;
    for (const char* side : {"eager_error", "compiled_error"}) {
      const auto error = json.find(side);
      if (error != json.end() && error->contains("class"))
        classes += (classes.empty() ? "" : "\n") + (*error)["class"].get<std::string>();
    }
    if (classes.empty()) {
      errors_.add_none();
    } else {
      errors_.add(std::move(classes));
    }
  }

  std::array<ValueColumn, kColumns.size()> columns_;
  ValueColumn passed_, ulps_, errors_, marks_;
};

/// Takes out of the verdicts of a block what several of them repeat (the program of a case, the
/// proof of a path), and puts it there once: `common` of a verdict maps such a key to a place in
/// `common` of the block.
Json pooled(Json verdicts) {
  Json common = Json::array();
  std::unordered_map<std::string, std::size_t> places;
  for (Json& verdict : verdicts) {
    Json references = Json::object();
    for (const char* key : {"case_file", "links", "program", "proof", "stderr_tail"}) {
      const auto found = verdict.find(key);
      if (found == verdict.end()) continue;
      std::string text = dumped(*found);
      if (text.size() < 24) continue;
      const auto [place, is_new] = places.emplace(std::move(text), common.size());
      if (is_new) common.push_back(std::move(*found));
      references[key] = place->second;
      verdict.erase(key);
    }
    if (!references.empty()) verdict["common"] = std::move(references);
  }
  return {{"common", std::move(common)}, {"verdicts", std::move(verdicts)}};
}

/// JSON that can stand inside <script>: without "<" nothing in it can end the element or begin a
/// comment.  Cleaned as a whole, for its strings are what the page shows.
std::string inside_script(const Json& document) {
  const std::string json = clean(dumped(document));
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

/// How much conforms by path, of all that was judged and of what every path judged.
Json rates_json(const RunRecord& record) {
  const RatesByPath rates = rates_by_path(record);
  const auto json = [](const Rate& rate) {
    return Json{{"conform", rate.conform}, {"judged", rate.judged}};
  };
  Json paths = Json::array();
  for (const RatesByPath::Of& each : rates.paths)
    paths.push_back({{"path", each.path}, {"own", json(each.own)}, {"common", json(each.common)}});
  return {{"differ", rates.differ}, {"paths", std::move(paths)}};
}

/// From where the page will be to the files of its run; nothing where nobody knows.
Json files_of(const RunRecord& record, const std::filesystem::path& page) {
  if (page.empty() || page == "-") return nullptr;
  std::error_code error;
  const std::filesystem::path directory = record.directory.empty() ? "." : record.directory,
                              files = std::filesystem::relative(
                                  std::filesystem::absolute(directory),
                                  std::filesystem::absolute(page).parent_path(), error);
  return error || files.empty() ? Json() : Json(files.generic_string());
}

/// The data of the page: first what it reads when it is opened, then the blocks.
std::vector<std::string> data_of(const RunRecord& record, const std::filesystem::path& page) {
  Json document = run_frame(record);
  std::map<std::string, double> phases;
  for (const Verdict& verdict : record.verdicts)
    for (const auto& [phase, seconds] : verdict.origin.phases) phases[phase] += seconds;
  document["phases"] = phases;
  document["count"] = record.verdicts.size();
  document["block"] = kBlock;
  Columns columns;
  std::vector<std::string> texts(1);
  for (std::size_t from = 0; from < record.verdicts.size(); from += kBlock) {
    Json block = Json::array();
    const std::size_t end = std::min(from + kBlock, record.verdicts.size());
    for (std::size_t place = from; place < end; ++place) {
      Json& rest = block.emplace_back(verdict_document(record.verdicts[place]));
      columns.add(record.verdicts[place], rest);
      for (const char* key : kColumns) rest.erase(key);
    }
    texts.push_back(inside_script(pooled(std::move(block))));
  }
  document["columns"] = columns.columns();
  document["derived"] = columns.derived();
  if (const AccuracyTable table = accuracy_table(record); !table.rows.empty())
    document["accuracy"] = accuracy_document(table);
  const Json words = words_document();
  for (const char* table : {"statuses", "standings", "kinds", "marks"})
    document[table] = words[table];
  document["grades"] = grade_names();
  document["input_kinds"] = kInputKinds;
  document["judged_too_little"] = judged_too_little(record, false);
  document["rates"] = rates_json(record);
  document["files"] = files_of(record, page);
  texts.front() = inside_script(document);
  return texts;
}

/// As script elements that nothing executes: `data`, `block-0`, `block-1` and so on.
std::string elements_of(std::vector<std::string> texts, std::size_t compress_from) {
  std::size_t size = 0;
  for (const std::string& text : texts) size += text.size();
  const bool compressed = size >= compress_from;
  if (compressed)
    in_parallel(texts.size(), 1, [&](std::size_t i) { texts[i] = base64(gzip(texts[i])); });
  std::string result;
  for (std::size_t place = 0; place < texts.size(); ++place) {
    result += fmt::format("<script type=\"application/{}\" id=\"{}\">{}</script>\n",
                          compressed ? "gzip" : "json",
                          place == 0 ? "data" : fmt::format("block-{}", place - 1), texts[place]);
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
                 std::size_t compress_from) {
  const Tally counts = tally(record, false);
  return filled(
      html_assets::page,
      {{"title",
        html_text(fmt::format("Lockstep: {} failing of {}", grouped(counts[Column::failing]),
                              counted(record.verdicts.size(), "verdict")))},
       {"totals", html_text(totals_line(record, false, record.end ? record.end->seconds : 0))},
       {"style", std::string(html_assets::style)},
       {"script", std::string(html_assets::script)},
       {"plain", plain_part(record)},
       {"data", elements_of(data_of(record, page), compress_from)}});
}

}  // namespace lockstep
