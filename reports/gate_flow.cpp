#include "reports/gate_flow.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "record/tally.h"
#include "reports/closing.h"
#include "reports/markup.h"

namespace lockstep {
namespace {

/// Where a verdict is in one of the runs.
struct Place {
  std::string_view kind, label;
  auto operator<=>(const Place&) const = default;
};
constexpr Place kNowhere{"skipped", "not there"};

Place place_of(const Verdict* verdict) {
  if (verdict == nullptr) return kNowhere;
  const ColumnInfo& column = all_columns()[static_cast<std::size_t>(column_of(*verdict, false))];
  return {column.name, column.name};
}

/// How many verdicts go from one place to another one.
using Flows = std::map<std::pair<Place, Place>, std::size_t>;

Flows flows_of(const Gate& gate) {
  std::unordered_map<std::string_view, const Verdict*> before;
  for (const Verdict& verdict : gate.before->verdicts) before[verdict.facts.id] = &verdict;
  Flows flows;
  const auto add = [&flows](const Place& from, const Place& to) {
    if (from != to) ++flows[{from, to}];
  };
  for (const Verdict& verdict : gate.after->verdicts) {
    const auto was = before.find(verdict.facts.id);
    if (was != before.end()) add(place_of(was->second), place_of(&verdict));
  }
  for (const GatedChange& each : gate.changes) {  // what one run alone has
    if (each.told == nullptr || each.change.before.has_value() == each.change.after.has_value())
      continue;
    const Place place = place_of(each.told);
    each.change.before ? add(place, kNowhere) : add(kNowhere, place);
  }
  return flows;
}

constexpr double kLeft = 150, kRight = 490, kBar = 10, kGap = 8, kLeast = 18, kHeight = 150;

/// One side of the picture: its places, from top to bottom.
struct Side {
  struct Bar {
    std::size_t count = 0;
    double top = 0, height = 0;
    double used = 0;  ///< how much of the height has its bands
  };
  std::map<Place, Bar> bars;
  double bottom = 0;

  void settle(std::size_t all) {
    for (auto& [place, bar] : bars) {
      bar.top = bottom;
      bar.height = kLeast + kHeight * static_cast<double>(bar.count) / static_cast<double>(all);
      bottom += bar.height + kGap;
    }
  }

  /// The part of a place's bar that has so many of its verdicts: top and bottom.
  std::pair<double, double> take(const Place& place, std::size_t count) {
    Bar& bar = bars.at(place);
    const double top = bar.top + bar.used;
    bar.used += bar.height * static_cast<double>(count) / static_cast<double>(bar.count);
    return {top, bar.top + bar.used};
  }

  std::string drawn(double x, double text_x, std::string_view anchor) const {
    std::string svg;
    for (const auto& [place, bar] : bars)
      svg += fmt::format(
          "<g class=\"kind-{}\"><rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"{:.0f}\" "
          "height=\"{:.1f}\"/><text x=\"{:.0f}\" y=\"{:.1f}\" text-anchor=\"{}\">{} "
          "{}</text></g>\n",
          place.kind, x, bar.top, kBar, bar.height, text_x, bar.top + bar.height / 2 + 4, anchor,
          grouped(bar.count), place.label);
    return svg;
  }
};

}  // namespace

std::string gate_flow(const Gate& gate) {
  const Flows flows = flows_of(gate);
  if (flows.empty()) return {};
  Side from, to;
  std::size_t all = 0;
  std::vector<std::string> words;
  for (const auto& [way, count] : flows) {
    from.bars[way.first].count += count;
    to.bars[way.second].count += count;
    all += count;
    words.push_back(
        fmt::format("{} from {} to {}", grouped(count), way.first.label, way.second.label));
  }
  from.settle(all);
  to.settle(all);
  std::string bands;
  for (const auto& [way, count] : flows) {
    const auto [top, bottom] = from.take(way.first, count);
    const auto [far_top, far_bottom] = to.take(way.second, count);
    const double left = kLeft + kBar, middle = (kLeft + kBar + kRight) / 2;
    bands += fmt::format(
        "<path class=\"kind-{0}\" d=\"M{1:.0f} {2:.1f}C{3:.0f} {2:.1f} {3:.0f} {4:.1f} {5:.0f} "
        "{4:.1f}V{6:.1f}C{3:.0f} {6:.1f} {3:.0f} {7:.1f} {1:.0f} {7:.1f}Z\"/>\n",
        way.second.kind, left, top, middle, far_top, kRight, far_bottom, bottom);
  }
  const std::string said = fmt::format("{}", fmt::join(words, "; "));
  return fmt::format(
      "<figure class=\"flow\"><svg viewBox=\"0 0 650 {:.0f}\" role=\"img\" aria-label=\"{}\">\n"
      "{}{}{}</svg><figcaption>{} moved: {}</figcaption></figure>\n",
      std::max(from.bottom, to.bottom), html_text(said), bands, from.drawn(kLeft, kLeft - 8, "end"),
      to.drawn(kRight, kRight + kBar + 8, "start"), counted(all, "verdict"), html_text(said));
}

}  // namespace lockstep
