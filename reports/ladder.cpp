#include "reports/ladder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "reports/closing.h"
#include "reports/text.h"

namespace lockstep {
namespace {

constexpr std::size_t kFewInstances = 50;

/// The layers on which an instance begins to diverge, lowest first.
std::vector<const Verdict*> beginnings(const Ladder& ladder, const std::string& instance) {
  std::vector<const Verdict*> result;
  for (const std::string& layer : ladder.layers()) {
    const Verdict* verdict = ladder.at(instance, layer);
    if (verdict != nullptr && ladder.divergence(*verdict) == Divergence::first)
      result.push_back(verdict);
  }
  return result;
}

/// How many instances begin to diverge on each layer.
std::map<std::string, std::size_t> firsts(const Ladder& ladder) {
  std::map<std::string, std::size_t> counts;
  for (const std::string& instance : ladder.diverging()) {
    for (const Verdict* verdict : beginnings(ladder, instance)) ++counts[verdict->facts.path];
  }
  return counts;
}

std::string sign(const Style& style, const Ladder& ladder, const Verdict* verdict) {
  if (verdict == nullptr) return " ";
  switch (ladder.divergence(*verdict)) {
    case Divergence::first:
      return style.bad("●");
    case Divergence::further:
      return style.odd("x");
    case Divergence::none:
      break;
  }
  if (verdict->found.status != Status::conform) return style.faint("?");
  return style.faint(ladder.same_code(*verdict) ? "\"" : "·");
}

}  // namespace

std::string ladder_text(const RunRecord& record, const Style& style, bool all) {
  const Ladder ladder(record);
  const auto& diverging = ladder.diverging();
  if (ladder.layers().empty() || diverging.empty()) return {};
  // A way that ends in the air says nothing of where a divergence begins.
  const std::vector<std::string> way = ladder.down_from(ladder.layers().back());
  if (!contains(ladder.layers(), way.front())) return {};

  const std::map<std::string, std::size_t> counts = firsts(ladder);
  std::size_t width = 0;
  for (const std::string& layer : ladder.layers()) width = std::max(width, columns(clean(layer)));
  std::string text =
      fmt::format("the ladder, lowest layer first; {} on some layer:\n",
                  diverging.size() == 1 ? "1 instance diverges"
                                        : grouped(diverging.size()) + " instances diverge");
  std::string head;
  for (std::size_t i = 0; i < ladder.layers().size(); ++i) {
    const std::string name = clean(ladder.layers()[i]);
    const auto first = counts.find(ladder.layers()[i]);
    text += fmt::format(
        "    {:>2}  {}{}  {}\n", i + 1, name, std::string(width - columns(name), ' '),
        first == counts.end() ? style.faint("-") : style.bad(grouped(first->second) + " first"));
    head += fmt::format("{:>3}", i + 1);
  }
  text +=
      "\n" +
      style.faint(fmt::format("   {}   ● diverges first, x diverges, · conforms, \" conforms by "
                              "the code of the layer below, ? not judged",
                              head)) +
      "\n";
  const std::size_t shown = all ? diverging.size() : std::min(diverging.size(), kFewInstances);
  for (std::size_t i = 0; i < shown; ++i) {
    text += "   ";
    for (const std::string& layer : ladder.layers())
      text += "  " + sign(style, ladder, ladder.at(diverging[i], layer));
    std::vector<std::string> begins;
    for (const Verdict* verdict : beginnings(ladder, diverging[i])) {
      begins.push_back(
          fmt::format("{}: {}", clean(verdict->facts.path), info(verdict->found.status).label));
    }
    text += fmt::format("   {}  {}\n", one_line(clean(diverging[i])),
                        style.faint(fmt::format("{}", fmt::join(begins, "; "))));
  }
  if (shown < diverging.size()) {
    text += style.faint(fmt::format("    {}: {}", and_more(diverging.size() - shown),
                                    report_command(record, "--ladder"))) +
            "\n";
  }
  return text + "\n";
}

nlohmann::ordered_json ladder_json(const RunRecord& record) {
  const Ladder ladder(record);
  Json layers = Json::array(), diverging = Json::object();
  const std::map<std::string, std::size_t> counts = firsts(ladder);
  for (const std::string& layer : ladder.layers()) {
    const std::vector<std::string> way = ladder.down_from(layer);
    const auto first = counts.find(layer);
    layers.push_back({{"path", layer},
                      {"above", way.size() > 1 ? Json(way[way.size() - 2]) : Json()},
                      {"first", first == counts.end() ? 0 : first->second}});
  }
  if (!ladder.layers().empty()) {
    for (const std::string& instance : ladder.diverging()) {
      // Each is there once; to look for it among the others would take the square of their number.
      Json& entry =
          diverging.get_ref<Json::object_t&>()
              .emplace_back(instance, Json{{"first", Json::array()}, {"unknown", Json::array()}})
              .second;
      std::set<std::string> unknown;
      for (const Verdict* verdict : beginnings(ladder, instance)) {
        entry["first"].push_back(verdict->facts.path);
        for (std::string& layer : ladder.unknown_below(*verdict)) unknown.insert(std::move(layer));
      }
      entry["unknown"] = unknown;
    }
  }
  return {{"layers", std::move(layers)}, {"diverging", std::move(diverging)}};
}

}  // namespace lockstep
