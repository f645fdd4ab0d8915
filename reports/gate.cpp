#include "reports/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "reports/closing.h"
#include "reports/markup.h"
#include "reports/rendered.h"
#include "reports/text.h"

namespace lockstep {
namespace {

constexpr std::size_t kChangesListed = 20;  ///< changes of a transition on the console
constexpr std::size_t kMarkdownLimit = 60'000;

/// "torch 2.13.0+cpu, AVX2, level core, 2026-11-21T10:00:00Z".
std::string name_of(const RunRecord& record) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  if (const std::string torch = said_by(record, "eager", "torch"); !torch.empty())
    add("torch " + torch);
  add(said_by(record, "eager", "cpu_capability"));
  if (!record.info.level.empty()) add("level " + record.info.level);
  add(record.info.started);
  return clean(text);
}

Json side(const RunRecord& record, const std::optional<std::size_t>& place) {
  if (!place) return {};
  const Verdict& verdict = record.verdicts[*place];
  Json json = {{"status", info(verdict.found.status).name},
               {"standing", name_of(verdict.account.standing)}};
  if (verdict.found.grade) json["grade"] = name_of(*verdict.found.grade);
  if (!verdict.found.reason.empty()) json["reason"] = verdict.found.reason;
  if (!verdict.origin.repro.empty()) json["repro"] = verdict.origin.repro;
  return json;
}

Json about(const RunRecord& record) {
  return {{"name", name_of(record)},
          {"started", record.info.started},
          {"arguments", record.info.arguments},
          {"level", record.info.level},
          {"digests", record.info.digests},
          {"plan", record.info.plan},
          {"verdicts", record.verdicts.size()},
          {"environment", record.environment}};
}

std::string repro_of(const Gate& gate, const GatedChange& each) {
  if (each.change.after) return gate.after->verdicts[*each.change.after].origin.repro;
  return each.change.before ? gate.before->verdicts[*each.change.before].origin.repro : "";
}

}  // namespace

std::string said_by(const RunRecord& record, const char* worker, const char* key) {
  const auto values = record.environment.find(worker);
  if (values == record.environment.end() || !values->is_object()) return {};
  const auto found = values->find(key);
  return found != values->end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string gate_counts(const Gate& gate) {
  const std::size_t failing = gate.failing();
  return fmt::format(
      "{} unchanged, {}{}", counted(gate.unchanged, "verdict"),
      counted(gate.changes.size(), "change"),
      failing == 0 ? "" : fmt::format(", {} of which fail{}", failing, failing == 1 ? "s" : ""));
}

std::string gate_outcome(const Gate& gate) {
  return fmt::format("{}: the gate is {}", gate_counts(gate), gate.is_open() ? "open" : "closed");
}

std::string eager_line(const EagerComparison& eager) {
  std::string text =
      fmt::format("eager: {} of {} differ{}", eager.changes.size(),
                  counted(eager.changes.size() + eager.same + eager.unknown, "instance"),
                  eager.changes.size() == 1 ? "s" : "");
  if (eager.unknown > 0)
    text += fmt::format(", {} cannot be told: the logs do not say what eager did", eager.unknown);
  return text;
}

std::string gate_text(const Gate& gate, const Style& style, bool verbose) {
  std::string text =
      fmt::format("before  {}\nafter   {}\n\n", name_of(*gate.before), name_of(*gate.after));
  const auto groups = gate.by_transition();
  for (const auto& [transition, group] : groups) {
    std::size_t shown = 0;
    for (const GatedChange* each : group) {
      if (!verbose && ++shown > kChangesListed) break;
      const std::string label(info(transition).label);
      text += fmt::format("{}  {}\n    {}\n",
                          each->fails     ? style.bad(label)
                          : each->allowed ? style.odd(label + " (allowed)")
                                          : style.strong(label),
                          clean(each->change.id), one_line(clean(each->change.text), 400));
      if (each->allowed != nullptr)
        text += fmt::format("    {}: {}\n", clean(each->allowed->where),
                            one_line(clean(each->allowed->reason)));
      if (const std::string repro = repro_of(gate, *each); each->fails && !repro.empty())
        text += "    " + style.command(clean(repro)) + "\n";
    }
    if (!verbose && group.size() > kChangesListed)
      text += style.faint(
          fmt::format("    and {} more: -v lists them\n", group.size() - kChangesListed));
  }
  if (!groups.empty()) text += "\n";
  std::size_t width = std::string_view("transition").size();
  for (const auto& [transition, group] : groups)
    width = std::max(width, info(transition).label.size());
  if (!groups.empty())
    text += style.strong(
        fmt::format("{:<{}}  {:>7}  {:>7}\n", "transition", width, "changes", "failing"));
  for (const auto& [transition, group] : groups) {
    const std::size_t failing = failing_of(group);
    text += fmt::format("{:<{}}  {:>7}  {:>7}\n", info(transition).label, width, group.size(),
                        failing == 0 ? std::string("-") : std::to_string(failing));
  }
  if (!groups.empty()) text += "\n";
  for (const Allowance* each : gate.unused)
    text += fmt::format("{}: `{}` lets nothing pass: remove it\n", clean(each->where),
                        info(each->transition).name);
  if (gate.eager) {
    std::size_t shown = 0;
    for (const EagerChange& each : gate.eager->changes) {
      if (!verbose && ++shown > kChangesListed) break;
      text += fmt::format("eager differs  {}  {}\n", clean(each.instance),
                          one_line(clean(each.text), 200));
    }
    if (!verbose && gate.eager->changes.size() > kChangesListed)
      text += style.faint(fmt::format("    and {} more: -v lists them\n",
                                      gate.eager->changes.size() - kChangesListed));
    text += eager_line(*gate.eager) + "\n\n";
  }
  const std::string last = gate_outcome(gate);
  return text + (gate.is_open() ? style.good(last) : style.bad(last)) + "\n";
}

std::string gate_markdown(const Gate& gate) {
  std::string text = fmt::format("## Lockstep: {}\n\n{} → {}\n\n", markdown(gate_outcome(gate)),
                                 markdown(name_of(*gate.before)), markdown(name_of(*gate.after)));
  const auto groups = gate.by_transition();
  if (!groups.empty()) text += "| transition | changes | failing |\n|:--|--:|--:|\n";
  for (const auto& [transition, group] : groups)
    text +=
        fmt::format("| {} | {} | {} |\n", info(transition).label, group.size(), failing_of(group));
  constexpr std::string_view kEnd = "\nand {} more\n";
  for (const auto& [transition, group] : groups) {
    std::string part = fmt::format("\n### {}\n\n{}.\n\n", info(transition).label,
                                   markdown(info(transition).meaning));
    std::size_t told = 0;
    for (const GatedChange* each : group) {
      std::string item =
          fmt::format("- {}: {}", markdown_code(each->change.id), markdown(each->change.text, 400));
      if (each->allowed != nullptr)
        item += fmt::format(" *allowed: {}*", markdown(each->allowed->reason));
      item += "\n";
      if (text.size() + part.size() + item.size() + kEnd.size() + 16 > kMarkdownLimit) break;
      part += item;
      ++told;
    }
    if (told < group.size()) part += fmt::format(kEnd, group.size() - told);
    if (text.size() + part.size() > kMarkdownLimit) break;
    text += part;
  }
  if (gate.eager) {
    std::string part = fmt::format("\n### eager with eager\n\n{}.\n\n", eager_line(*gate.eager));
    std::size_t told = 0;
    for (const EagerChange& each : gate.eager->changes) {
      const std::string item =
          fmt::format("- {}: {}\n", markdown_code(each.instance), markdown(each.text));
      if (text.size() + part.size() + item.size() + kEnd.size() + 16 > kMarkdownLimit) break;
      part += item;
      ++told;
    }
    if (told < gate.eager->changes.size())
      part += fmt::format(kEnd, gate.eager->changes.size() - told);
    if (text.size() + part.size() <= kMarkdownLimit) text += part;
  }
  return text;
}

Json gate_json(const Gate& gate) {
  Json counts = Json::object();
  for (const auto& [transition, group] : gate.by_transition())
    counts[std::string(info(transition).name)] = {{"changes", group.size()},
                                                  {"failing", failing_of(group)}};
  Json changes = Json::array();
  for (const GatedChange& each : gate.changes) {
    Json change = {{"transition", info(each.change.transition).name},
                   {"id", each.change.id},
                   {"fails", each.fails},
                   {"text", each.change.text}};
    if (each.change.before) change["before"] = side(*gate.before, each.change.before);
    if (each.change.after) change["after"] = side(*gate.after, each.change.after);
    if (each.allowed != nullptr)
      change["allowed"] = {{"where", each.allowed->where},
                           {"reason", each.allowed->reason},
                           {"link", each.allowed->link}};
    changes.push_back(std::move(change));
  }
  Json unused = Json::array();
  for (const Allowance* each : gate.unused) unused.push_back(each->where);
  Json json = {{"format", 1},
               {"before", about(*gate.before)},
               {"after", about(*gate.after)},
               {"failing", gate.failing()},
               {"unchanged", gate.unchanged},
               {"counts", std::move(counts)},
               {"changes", std::move(changes)},
               {"unused", std::move(unused)}};
  if (gate.eager) {
    Json differing = Json::array();
    for (const EagerChange& each : gate.eager->changes)
      differing.push_back({{"instance", each.instance}, {"text", each.text}});
    json["eager"] = {{"changes", std::move(differing)},
                     {"same", gate.eager->same},
                     {"unknown", gate.eager->unknown}};
  }
  return json;
}

std::string gate_junit(const Gate& gate) {
  return fitted(kReportLimit, [&](const Fullness& fullness, std::size_t room) {
    std::string cases;
    std::size_t tests = 0, failures = 0;
    for (const GatedChange& each : gate.changes) {
      const std::string name(info(each.change.transition).name);
      std::string test = "    <testcase" + xml_attribute("name", unmarked(each.change.id)) +
                         xml_attribute("classname", "lockstep.gate." + name) + " time=\"0.000\"";
      const std::string said = xml_text(unmarked(cut(clean(each.change.text), fullness.text)));
      if (each.fails) {
        test += fmt::format(
            ">\n      <failure{}{}>{}</failure>\n    </testcase>\n",
            xml_attribute("message", unmarked(one_line(each.change.text, fullness.message))),
            xml_attribute("type", name), said);
      } else {
        test += fmt::format(">\n      <system-out>{}</system-out>\n    </testcase>\n", said);
      }
      if (cases.size() + test.size() > room) break;
      cases += test;
      ++tests;
      failures += each.fails;
    }
    const std::string counts =
        fmt::format(" tests=\"{}\" failures=\"{}\" errors=\"0\"", tests, failures);
    return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
           xml_attribute("name", "lockstep gate") + counts + " time=\"0.000\">\n  <testsuite" +
           xml_attribute("name", "lockstep gate") + counts + " skipped=\"0\" time=\"0.000\">\n" +
           cases + "  </testsuite>\n</testsuites>\n";
  });
}

}  // namespace lockstep
