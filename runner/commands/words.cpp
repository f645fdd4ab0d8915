#include "commands/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "policies/policy.h"
#include "record/transitions.h"
#include "reports/text.h"
#include "verdict/differences.h"
#include "verdict/verdict.h"

namespace lockstep {
namespace {

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

/// Whether something fails a run, from whether it does so, and does so with --strict.
std::string fails(bool plain, bool strict) {
  if (plain) return "yes";
  return strict ? "with --strict" : "no";
}

WordTable statuses() {
  WordTable table{"statuses", {"name", "fails", "JUnit", "meaning"}, {}};
  for (const StatusInfo& each : all_statuses())
    table.rows.push_back({std::string(each.name), fails(each.fails, each.fails_strict),
                          std::string(name_of(each.junit)), std::string(each.meaning)});
  return table;
}

WordTable standings() {
  WordTable table{"standings", {"name", "fails", "meaning"}, {}};
  for (const StandingInfo& each : all_standings())
    table.rows.push_back({std::string(each.name),
                          each.fails ? fails(*each.fails, *each.fails_strict) : "as its status",
                          std::string(each.meaning)});
  return table;
}

WordTable grades() {
  WordTable table{"grades", {"name", "policy", "meaning"}, {}};
  for (const std::string& name : grade_names()) {
    const Grade grade = *find_grade(name);
    table.rows.push_back({name, std::string(policy_of(grade)), std::string(meaning_of(grade))});
  }
  return table;
}

WordTable transitions() {
  WordTable table{"transitions", {"name", "fails", "meaning"}, {}};
  for (const TransitionInfo& each : all_transitions())
    table.rows.push_back(
        {std::string(each.name), yes_or_no(each.fails), std::string(each.meaning)});
  return table;
}

/// A formula is written for Markdown.
std::string plain(std::string_view markdown) {
  std::string text(markdown);
  std::erase_if(text, [](char character) { return character == '`' || character == '\\'; });
  return text;
}

WordTable policies() {
  WordTable table{"policies", {"name", "written", "agrees where"}, {}};
  for (const PolicyInfo& each : all_policies())
    table.rows.push_back({std::string(each.name), plain(each.written), plain(each.formula)});
  return table;
}

WordTable paths(const Session& session) {
  WordTable table{"paths", {"name", "default", "contract", "above", "title"}, {}};
  std::vector<const Path*> all;
  for (const Path& path : session.suite().paths) all.push_back(&path);
  const std::map<std::string, std::string> above = above_of(session.suite().paths);
  const auto depth = [&](const Path* path) {
    const std::vector<std::string> way = down_from(path->name, above);
    return std::count_if(way.begin(), way.end(),
                         [&](const std::string& name) { return above.contains(name); });
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Path* a, const Path* b) { return depth(a) < depth(b); });
  for (const Path* each : all) {
    const Path& path = *each;
    table.rows.push_back({path.name, yes_or_no(path.is_default),
                          std::string(name_of(path.contract)), path.above, path.title});
  }
  return table;
}

Answer<WordTable> levels(const Basis& basis, Session& session) {
  WordTable table{"levels", {"name", "cases", "instances", "title"}, {}};
  std::vector<std::string> names = level_names(basis.at.suite);
  for (const std::string& name : names) {
    const auto ids = ids_of_level(basis, session, name);
    if (!ids) return tl::unexpected(ids.error());
    std::set<std::string> cases;
    for (const std::string& id : *ids) cases.insert(id.substr(0, id.find_first_of("[@")));
    table.rows.push_back({name, std::to_string(cases.size()), std::to_string(ids->size()),
                          level_title(basis.at.suite, name)});
  }
  return table;
}

}  // namespace

Answer<std::vector<WordTable>> word_tables(const std::string& kind, const Basis& basis,
                                           Session& session) {
  if (kind == "statuses") return std::vector{statuses(), standings(), grades(), transitions()};
  if (kind == "policies") return std::vector{policies()};
  if (kind == "paths") return std::vector{paths(session)};
  auto table = levels(basis, session);
  if (!table) return tl::unexpected(table.error());
  return std::vector{std::move(*table)};
}

std::string to_text(const std::vector<WordTable>& tables) {
  std::string text;
  for (const WordTable& table : tables) {
    if (!text.empty()) text += "\n";
    std::vector<std::size_t> widths(table.headings.size(), 0);
    const auto measure = [&](const std::vector<std::string>& row) {
      for (std::size_t i = 0; i < row.size(); ++i)
        widths[i] = std::max(widths[i], columns(clean(row[i])));
    };
    measure(table.headings);
    for (const auto& row : table.rows) measure(row);
    const auto line = [&](const std::vector<std::string>& row) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string cell = clean(row[i]);
        const bool last = i + 1 == row.size();
        text += cell + (last ? "\n" : std::string(widths[i] - columns(cell) + 2, ' '));
      }
    };
    line(table.headings);
    for (const auto& row : table.rows) line(row);
  }
  return text;
}

std::string to_markdown(const std::vector<WordTable>& tables) {
  std::string text;
  const auto cell = [](std::string_view raw) {
    std::string escaped;
    for (const char character : one_line(clean(raw))) {
      if (character == '|' || character == '<' || character == '*') escaped += '\\';
      escaped += character;
    }
    return escaped;
  };
  for (const WordTable& table : tables) {
    if (!text.empty()) text += "\n";
    text += "|";
    for (const std::string& heading : table.headings) text += " " + heading + " |";
    text += "\n|";
    for (std::size_t i = 0; i < table.headings.size(); ++i) text += "---|";
    text += "\n";
    for (const auto& row : table.rows) {
      text += "|";
      for (std::size_t i = 0; i < row.size(); ++i)
        text += i == 0 ? fmt::format(" `{}` |", clean(row[i])) : fmt::format(" {} |", cell(row[i]));
      text += "\n";
    }
  }
  return text;
}

std::string to_json(const std::vector<WordTable>& tables) {
  Json all = Json::object();
  for (const WordTable& table : tables) {
    Json rows = Json::array();
    for (const auto& row : table.rows) {
      Json object = Json::object();
      for (std::size_t i = 0; i < row.size(); ++i) object[table.headings[i]] = clean(row[i]);
      rows.push_back(std::move(object));
    }
    all[table.title] = std::move(rows);
  }
  return all.dump(1) + "\n";
}

}  // namespace lockstep
