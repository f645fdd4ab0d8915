#include "reports/relations.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "base/text.h"
#include "reports/text.h"

namespace lockstep {
namespace {

/// Adds what was asked of another output or instance of the same operator.
void add(const RelationFinding& other, RelationFinding& sum) {
  sum.asked += other.asked;
  sum.eager += other.eager;
  sum.path += other.path;
  sum.undecided = sum.undecided || other.undecided;
}

/// A row, filled up to the widths of the columns.
std::string row_of(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths) {
  std::string text = "|";
  for (std::size_t i = 0; i < cells.size(); ++i)
    text += fmt::format(" {}{} |", cells[i], std::string(widths[i] - columns(cells[i]), ' '));
  return text + "\n";
}

/// "kept"; "eager breaks 3 of 13"; "path breaks 2 of 13"; "eager breaks 3, path 2 of 13"; with a
/// question mark behind it where no gold says that the program keeps the relation.
std::string relation_words(const RelationFinding& found) {
  std::string text = "kept";
  if (found.eager > 0 && found.path > 0) {
    text = fmt::format("eager breaks {}, path {} of {}", found.eager, found.path, found.asked);
  } else if (found.eager > 0 || found.path > 0) {
    text = fmt::format("{} breaks {} of {}", found.eager > 0 ? "eager" : "path",
                       std::max(found.eager, found.path), found.asked);
  }
  return text + (found.undecided ? " (?)" : "");
}

}  // namespace

std::string relations_text(const RunRecord& record) {
  std::map<std::tuple<std::string, std::string, std::string>,
           std::map<RelationKind, RelationFinding>>
      found;
  for (const Verdict& verdict : record.verdicts) {
    for (const RelationFinding& each : verdict.found.relations)
      add(each,
          found[{verdict.facts.path, fmt::format("{}", fmt::join(verdict.facts.operators, ", ")),
                 fmt::format("{}", fmt::join(verdict.facts.dtypes, ", "))}][each.kind]);
  }
  if (found.empty()) return {};
  std::vector<std::vector<std::string>> rows = {{"path", "operator", "dtype"}};
  for (const RelationInfo& each : all_relations()) rows.front().emplace_back(each.name);
  for (const auto& [key, kinds] : found) {
    const auto& [path, operators, dtypes] = key;
    std::vector<std::string>& row = rows.emplace_back(
        std::vector<std::string>{clean(path), one_line(clean(operators), 60), clean(dtypes)});
    for (const RelationInfo& each : all_relations()) {
      const auto of = kinds.find(each.kind);
      row.push_back(of == kinds.end() ? "" : relation_words(of->second));
    }
  }
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns(row[i]));
  }
  std::string text = row_of(rows.front(), widths) + "|";
  for (const std::size_t width : widths) text += std::string(width + 2, '-') + "|";
  text += "\n";
  for (std::size_t i = 1; i < rows.size(); ++i) text += row_of(rows[i], widths);
  return text;
}

}  // namespace lockstep
