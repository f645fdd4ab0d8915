#include "reports/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/text.h"
#include "reports/text.h"

namespace lockstep {

std::vector<OperatorShare> operator_shares(const RunRecord& record, bool strict) {
  std::map<std::tuple<std::string, std::string, std::string>, OperatorShare> shares;
  for (const Verdict& verdict : record.verdicts) {
    const std::vector<std::string> none = {"none"};
    for (const std::string& name : verdict.facts.operators) {
      for (const std::string& dtype : verdict.facts.dtypes.empty() ? none : verdict.facts.dtypes) {
        OperatorShare& share = shares[{verdict.facts.path, name, dtype}];
        share.conform += verdict.found.status == Status::conform;
        share.judged += info(verdict.found.status).judged();
        share.failing += verdict.fails(strict);
        share.declared += verdict.found.unsupported_by == UnsupportedBy::declaration;
      }
    }
  }
  std::vector<OperatorShare> all;
  for (auto& [key, share] : shares) {
    std::tie(share.path, share.name, share.dtype) = key;
    all.push_back(std::move(share));
  }
  // What was not judged comes last.
  const auto rate = [](const OperatorShare& share) {
    return share.judged == 0
               ? 2
               : static_cast<double>(share.conform) / static_cast<double>(share.judged);
  };
  std::stable_sort(all.begin(), all.end(), [&](const OperatorShare& a, const OperatorShare& b) {
    return std::tuple(b.failing, rate(a)) < std::tuple(a.failing, rate(b));
  });
  return all;
}

std::string operators_text(const RunRecord& record, const Style& style, bool strict) {
  std::string text;
  for (const OperatorShare& share : operator_shares(record, strict)) {
    const double percent = share.judged == 0 ? 0
                                             : 100 * static_cast<double>(share.conform) /
                                                   static_cast<double>(share.judged);
    // Nothing rounds up to all.
    const std::string rate =
        share.judged == 0
            ? "–"
            : fmt::format("{:.1f} %",
                          share.conform < share.judged ? std::min(percent, 99.9) : percent);
    std::string line = fmt::format(
        "{}{}  {:>5} of {:>5}  {}  {}  {}{}",
        std::string(8 - std::min<std::size_t>(8, columns(rate)), ' '), rate, share.conform,
        share.judged, clean(share.name), clean(share.dtype), clean(share.path),
        share.declared == 0 ? "" : fmt::format("  {} declared", share.declared));
    text += (share.failing > 0 ? style.bad(line) : line) + "\n";
  }
  return text;
}

nlohmann::ordered_json operators_json(const RunRecord& record, bool strict) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const OperatorShare& share : operator_shares(record, strict))
    rows.push_back({{"operator", share.name},
                    {"dtype", share.dtype},
                    {"path", share.path},
                    {"conform", share.conform},
                    {"judged", share.judged},
                    {"failing", share.failing},
                    {"declared", share.declared}});
  return rows;
}

}  // namespace lockstep
