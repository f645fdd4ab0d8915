#include "reports/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "base/text.h"
#include "record/fingerprints.h"
#include "record/judged.h"
#include "reports/text.h"

namespace lockstep {

std::vector<OperatorConformance> operator_conformance(const RunRecord& record, bool strict) {
  std::map<std::tuple<std::string, std::string, std::string>, OperatorConformance> shares;
  for (const Verdict& verdict : record.verdicts) {
    const std::vector<std::string> none = {"none"};
    const bool conforms = verdict.found.status == Status::conform;
    const bool accuses = !conforms && !fingerprints_of(verdict).empty();
    const std::set<std::string> accused = accuses ? accused_by(verdict) : std::set<std::string>();
    for (const std::string& name : verdict.facts.operators) {
      for (const std::string& dtype : verdict.facts.dtypes.empty() ? none : verdict.facts.dtypes) {
        OperatorConformance& row = shares[{verdict.facts.path, name, dtype}];
        const bool counts = !accuses || accused.contains(operators_of(std::span(&name, 1), ""));
        row.conform += conforms;
        row.judged += counts && info(verdict.found.status).judged();
        row.failing += counts && verdict.fails(strict);
        row.beside += !counts && info(verdict.found.status).judged();
        row.declared += verdict.found.unsupported_by == UnsupportedBy::declaration;
      }
    }
  }
  std::vector<OperatorConformance> all;
  for (auto& [key, row] : shares) {
    std::tie(row.path, row.name, row.dtype) = key;
    all.push_back(std::move(row));
  }
  // What was not judged comes last.
  const auto rate = [](const OperatorConformance& row) {
    return row.judged == 0 ? 2 : static_cast<double>(row.conform) / static_cast<double>(row.judged);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const OperatorConformance& a, const OperatorConformance& b) {
                     return std::tuple(b.failing, rate(a)) < std::tuple(a.failing, rate(b));
                   });
  return all;
}

std::string operators_text(const RunRecord& record, const Style& style, bool strict) {
  std::string text;
  for (const OperatorConformance& row : operator_conformance(record, strict)) {
    const std::string rate = rate_text(row.conform, row.judged);
    std::string line =
        fmt::format("{}{}  {:>5} of {:>5}  {}  {}  {}{}",
                    std::string(8 - std::min<std::size_t>(8, columns(rate)), ' '), rate,
                    row.conform, row.judged, clean(row.name), clean(row.dtype), clean(row.path),
                    row.declared == 0 ? "" : fmt::format("  {} declared", row.declared));
    if (row.beside > 0) line += fmt::format("  beside {}", row.beside);
    text += (row.failing > 0 ? style.bad(line) : line) + "\n";
  }
  return text;
}

nlohmann::ordered_json operators_json(const RunRecord& record, bool strict) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const OperatorConformance& row : operator_conformance(record, strict))
    rows.push_back({{"operator", row.name},
                    {"dtype", row.dtype},
                    {"path", row.path},
                    {"conform", row.conform},
                    {"judged", row.judged},
                    {"failing", row.failing},
                    {"beside", row.beside},
                    {"declared", row.declared}});
  return rows;
}

}  // namespace lockstep
