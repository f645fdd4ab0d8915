#include "reports/ladder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "reports/text.h"

namespace lockstep {
namespace {

constexpr std::size_t kFewInstances = 50;

/// The rungs on which an instance begins to depart, lowest first.
std::vector<const Verdict*> beginnings(const Ladder& ladder, const std::string& instance) {
  std::vector<const Verdict*> result;
  for (const std::string& rung : ladder.rungs()) {
    const Verdict* verdict = ladder.at(instance, rung);
    if (verdict != nullptr && ladder.departure(*verdict) == Departure::first)
      result.push_back(verdict);
  }
  return result;
}

/// How many instances begin to depart on each rung.
std::map<std::string, std::size_t> firsts(const Ladder& ladder) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& instance : ladder.departing()) {
    for (const Verdict* verdict : beginnings(ladder, instance)) ++counts[verdict->facts.path];
  }
  return counts;
}

std::string sign(const Style& style, const Ladder& ladder, const Verdict* verdict) {
  if (verdict == nullptr) return " ";
  switch (ladder.departure(*verdict)) {
    case Departure::first:
      return style.bad("●");
    case Departure::further:
      return style.odd("x");
    case Departure::none:
      break;
  }
  if (verdict->found.status != Status::conform) return style.faint("?");
  return style.faint(ladder.same_code(*verdict) ? "\"" : "·");
}

}  // namespace

std::string ladder_text(const RunRecord& record, const Style& style, bool all) {
  const Ladder ladder(record);
  const auto& departing = ladder.departing();
  if (ladder.rungs().empty() || departing.empty()) return {};
  // A way that ends in the air says nothing of where a divergence begins.
  const std::vector<std::string> way = ladder.down_from(ladder.rungs().back());
  if (!contains(ladder.rungs(), way.front())) return {};

  const std::map<std::string, std::size_t> counts = firsts(ladder);
  std::size_t width = 0;
  for (const std::string& rung : ladder.rungs()) width = std::max(width, columns(clean(rung)));
  std::string text =
      fmt::format("the ladder, lowest rung first; {} on some rung:\n",
                  departing.size() == 1 ? "1 instance departs"
                                        : grouped(departing.size()) + " instances depart");
  std::string head;
  for (std::size_t i = 0; i < ladder.rungs().size(); ++i) {
    const std::string name = clean(ladder.rungs()[i]);
    const auto first = counts.find(ladder.rungs()[i]);
    text += fmt::format(
        "    {:>2}  {}{}  {}\n", i + 1, name, std::string(width - columns(name), ' '),
        first == counts.end() ? style.faint("-") : style.bad(grouped(first->second) + " first"));
    head += fmt::format("{:>3}", i + 1);
  }
  text += "\n" +
          style.faint(fmt::format("   {}   ● departs first, x departs, · conforms, \" conforms by "
                                  "the code of the rung below, ? not judged",
                                  head)) +
          "\n";
  const std::size_t shown = all ? departing.size() : std::min(departing.size(), kFewInstances);
  for (std::size_t i = 0; i < shown; ++i) {
    text += "   ";
    for (const std::string& rung : ladder.rungs())
      text += "  " + sign(style, ladder, ladder.at(departing[i], rung));
    std::vector<std::string> begins;
    for (const Verdict* verdict : beginnings(ladder, departing[i])) {
      begins.push_back(
          fmt::format("{}: {}", clean(verdict->facts.path), info(verdict->found.status).label));
    }
    text += fmt::format("   {}  {}\n", one_line(clean(departing[i])),
                        style.faint(fmt::format("{}", fmt::join(begins, "; "))));
  }
  if (shown < departing.size()) {
    text += style.faint(fmt::format("    and {} more: ci/lockstep report --ladder",
                                    grouped(departing.size() - shown))) +
            "\n";
  }
  return text + "\n";
}

nlohmann::ordered_json ladder_json(const RunRecord& record) {
  const Ladder ladder(record);
  Json rungs = Json::array(), departing = Json::object();
  const std::map<std::string, std::size_t> counts = firsts(ladder);
  for (const std::string& rung : ladder.rungs()) {
    const std::vector<std::string> way = ladder.down_from(rung);
    const auto first = counts.find(rung);
    rungs.push_back({{"path", rung},
                     {"above", way.size() > 1 ? Json(way[way.size() - 2]) : Json()},
                     {"first", first == counts.end() ? 0 : first->second}});
  }
  if (!ladder.rungs().empty()) {
    for (const std::string& instance : ladder.departing()) {
      Json& entry = departing[instance] = {{"first", Json::array()}, {"unknown", Json::array()}};
      std::set<std::string> unknown;
      for (const Verdict* verdict : beginnings(ladder, instance)) {
        entry["first"].push_back(verdict->facts.path);
        for (std::string& rung : ladder.unknown_below(*verdict)) unknown.insert(std::move(rung));
      }
      entry["unknown"] = unknown;
    }
  }
  return {{"rungs", std::move(rungs)}, {"departing", std::move(departing)}};
}

}  // namespace lockstep
