#include "reports/gate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "record/alike.h"
#include "reports/closing.h"
#include "reports/markup.h"
#include "reports/rendered.h"
#include "reports/text.h"

namespace lockstep {
namespace {

constexpr std::size_t kRowsListed = 20;  ///< rows of a transition on the console
constexpr std::size_t kNamesShown = 8;   ///< operators, dtypes or paths of a row
constexpr std::size_t kMarkdownLimit = 60'000;

/// "torch 2.13.0+cpu, AVX2, level core, 2026-11-21T10:00:00Z".
std::string name_of(const RunRecord& record) {
  std::string text;
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += (text.empty() ? "" : ", ") + part;
  };
  if (const std::string torch = said_by(record.environment, "eager", "torch"); !torch.empty())
    add("torch " + torch);
  add(said_by(record.environment, "eager", "cpu_capability"));
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

Json row_json(const GateRow& row) {
  Json json = {{"transition", info(row.transition).name},
               {"name", row.name},
               {"fails", row.fails},
               {"changes", row.changes.size()},
               {"example", row.example->change.id}};
  if (!row.paths.empty()) json["paths"] = row.paths;
  if (!row.dtypes.empty()) json["dtypes"] = row.dtypes;
  if (!row.operators.empty()) json["operators"] = row.operators;
  if (!row.explained.empty()) json["explained"] = row.explained;
  if (row.known != nullptr) json["known"] = row.known->reason;
  if (!row.links.empty()) json["links"] = row.links;
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

std::string closing_sentence(const ClosingRows& closing) {
  const std::size_t unknown = closing.rows - closing.known;
  std::string text =
      fmt::format("{} in {} {} worse", counted(closing.rows, "fingerprint"),
                  counted(closing.verdicts, "verdict"), closing.rows == 1 ? "is" : "are");
  text += fmt::format("; {} {} unknown to the suite", unknown, unknown == 1 ? "is" : "are");
  if (closing.reported > 0)
    text +=
        fmt::format(", {} {} a report", closing.reported, closing.reported == 1 ? "has" : "have");
  return text;
}

/// A row on the console.
std::string row_text(const Gate& gate, const GateRow& row, const Style& style, bool verbose) {
  const std::string label(info(row.transition).label);
  std::string text = fmt::format("{}  {}",
                                 row.fails                ? style.bad(label)
                                 : row.allowed != nullptr ? style.odd(label + " (allowed)")
                                                          : style.strong(label),
                                 one_line(clean(row.name), 200));
  if (row.is_of_verdicts()) text += style.faint("  " + one_line(clean(about_row(row)), 200));
  text += fmt::format("\n    {}\n", one_line(clean(row.example->change.text), 400));
  if (row.is_of_verdicts() && !verbose)
    text += "    " + style.faint(one_line(clean(row.example->change.id), 400)) + "\n";
  if (!row.explained.empty())
    text += fmt::format("    who did it: {}\n", one_line(clean(row.explained), 400));
  if (row.known != nullptr)
    text += fmt::format("    known: {}\n", one_line(clean(row.known->reason), 400));
  for (const std::string& link : row.links) text += "    " + one_line(clean(link)) + "\n";
  if (row.allowed != nullptr)
    text += fmt::format("    {}: {}\n", clean(row.allowed->where),
                        one_line(clean(row.allowed->reason)));
  const std::string repro = repro_of(gate, *row.example);
  if (row.fails && !repro.empty()) text += "    " + style.command(clean(repro)) + "\n";
  if (!verbose || !row.is_of_verdicts()) return text;
  for (const GatedChange* each : row.changes)
    text += fmt::format("        {}  {}\n", clean(each->change.id),
                        one_line(clean(each->change.text), 400));
  return text;
}

/// The transitions that occur, with what they count.
std::string transitions_table(const Gate& gate, const Style& style) {
  const auto groups = gate.by_transition();
  if (groups.empty()) return {};
  std::size_t width = std::string_view("transition").size();
  for (const auto& [transition, group] : groups)
    width = std::max(width, info(transition).label.size());
  std::string text = style.strong(
      fmt::format("{:<{}}  {:>7}  {:>7}\n", "transition", width, "changes", "failing"));
  for (const auto& [transition, group] : groups) {
    const std::size_t failing = failing_of(group);
    text += fmt::format("{:<{}}  {:>7}  {:>7}\n", info(transition).label, width, group.size(),
                        failing == 0 ? std::string("-") : std::to_string(failing));
  }
  return text + "\n";
}

/// What eager itself does otherwise, on the console.
std::string eager_text(const EagerComparison& eager, const Style& style, bool verbose) {
  std::string text;
  std::size_t shown = 0;
  for (const EagerChange& each : eager.changes) {
    if (!verbose && ++shown > kRowsListed) break;
    text += fmt::format("eager differs  {}  {}\n", clean(each.instance),
                        one_line(clean(each.text), 200));
  }
  if (!verbose && eager.changes.size() > kRowsListed)
    text += style.faint(
        fmt::format("    {}: -v lists them\n", and_more(eager.changes.size() - kRowsListed)));
  return text + eager_line(eager) + "\n\n";
}

}  // namespace

std::string gate_counts(const Gate& gate) {
  return fmt::format("{} unchanged, {}", counted(gate.unchanged, "verdict"),
                     counted(gate.changes.size(), "change"));
}

std::string gate_reason(const Gate& gate, const std::vector<GateRow>& rows) {
  if (!gate.is_open()) return closing_sentence(closing_rows(rows));
  const auto let_pass = std::count_if(rows.begin(), rows.end(), [](const GateRow& row) {
    return info(row.transition).fails && row.known != nullptr;
  });
  if (let_pass == 0) return gate_counts(gate);
  return fmt::format("{}; {} {} worse and known to the suite", gate_counts(gate),
                     counted(static_cast<std::size_t>(let_pass), "fingerprint"),
                     let_pass == 1 ? "is" : "are");
}

std::string gate_outcome(const Gate& gate, const std::vector<GateRow>& rows) {
  return fmt::format("the gate is {}: {}", gate.is_open() ? "open" : "closed",
                     gate_reason(gate, rows));
}

std::string about_row(const GateRow& row) {
  std::vector<std::string> parts = {counted(row.changes.size(), "verdict")};
  for (const std::set<std::string>* names : {&row.operators, &row.dtypes, &row.paths}) {
    if (names->empty()) continue;
    const std::size_t shown = std::min(names->size(), kNamesShown);
    parts.push_back(
        fmt::format("{}{}",
                    fmt::join(names->begin(),
                              std::next(names->begin(), static_cast<std::ptrdiff_t>(shown)), ", "),
                    names->size() > shown ? " " + and_more(names->size() - shown) : ""));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
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
  const std::vector<GateRow> rows = rows_of(gate);
  std::string text =
      fmt::format("before  {}\nafter   {}\n", name_of(*gate.before), name_of(*gate.after));
  if (!gate.unlike.empty()) text += style.odd("not compared like with like:") + "\n";
  for (const std::string& line : gate.unlike) text += "    " + one_line(clean(line)) + "\n";
  text += "\n";
  std::map<Transition, std::size_t> shown;
  for (const GateRow& row : rows) {
    if (verbose || ++shown[row.transition] <= kRowsListed)
      text += row_text(gate, row, style, verbose);
  }
  for (const auto& [transition, count] : shown) {
    if (!verbose && count > kRowsListed)
      text += style.faint(fmt::format("{}: {}: -v lists them\n", info(transition).label,
                                      and_more(count - kRowsListed)));
  }
  if (!rows.empty()) text += "\n";
  text += transitions_table(gate, style);
  for (const Allowance* each : gate.unused)
    text += fmt::format("{}: `{}` lets nothing pass: remove it\n", clean(each->where),
                        info(each->transition).name);
  if (gate.eager) text += eager_text(*gate.eager, style, verbose);
  if (!gate.is_open()) text += gate_counts(gate) + "\n";
  const std::string last = gate_outcome(gate, rows);
  return text + (gate.is_open() ? style.good(last) : style.bad(last)) + "\n";
}

namespace {

/// A row in Markdown.
std::string markdown_item(const GateRow& row) {
  std::string item = fmt::format("- {}", markdown_code(row.name));
  if (row.is_of_verdicts()) item += fmt::format(" ({})", markdown(about_row(row), 200));
  item += fmt::format(": {}", markdown(row.example->change.text, 400));
  if (!row.explained.empty())
    item += fmt::format(" *who did it: {}*", markdown(row.explained, 400));
  if (row.known != nullptr) item += fmt::format(" *known: {}*", markdown(row.known->reason, 400));
  for (const std::string& link : row.links) item += " " + markdown(link);
  if (row.allowed != nullptr) item += fmt::format(" *allowed: {}*", markdown(row.allowed->reason));
  return item + "\n";
}

}  // namespace

std::string gate_markdown(const Gate& gate) {
  const std::vector<GateRow> rows = rows_of(gate);
  std::string text =
      fmt::format("## Lockstep: {}\n\n{} → {}\n\n", markdown(gate_outcome(gate, rows)),
                  markdown(name_of(*gate.before)), markdown(name_of(*gate.after)));
  if (!gate.is_open()) text += markdown(gate_counts(gate)) + "\n\n";
  for (const std::string& line : gate.unlike)
    text += fmt::format("> not compared like with like: {}\n\n", markdown(line, 400));
  const auto groups = gate.by_transition();
  if (!groups.empty()) text += "| transition | changes | failing |\n|:--|--:|--:|\n";
  for (const auto& [transition, group] : groups)
    text +=
        fmt::format("| {} | {} | {} |\n", info(transition).label, group.size(), failing_of(group));
  constexpr std::size_t kEnd = 32;  ///< bytes of what says how many are left out
  for (auto row = rows.begin(); row != rows.end();) {
    const Transition transition = row->transition;
    const auto end = std::find_if(
        row, rows.end(), [&](const GateRow& each) { return each.transition != transition; });
    std::string part = fmt::format("\n### {}\n\n{}.\n\n", info(transition).label,
                                   markdown(info(transition).meaning));
    for (; row != end; ++row) {
      const std::string item = markdown_item(*row);
      if (text.size() + part.size() + item.size() + kEnd > kMarkdownLimit) break;
      part += item;
    }
    if (row != end) part += "\n" + and_more(static_cast<std::size_t>(end - row)) + "\n";
    row = end;
    if (text.size() + part.size() > kMarkdownLimit) break;
    text += part;
  }
  if (gate.eager) {
    std::string part = fmt::format("\n### eager with eager\n\n{}.\n\n", eager_line(*gate.eager));
    std::size_t told = 0;
    for (const EagerChange& each : gate.eager->changes) {
      const std::string item =
          fmt::format("- {}: {}\n", markdown_code(each.instance), markdown(each.text));
      if (text.size() + part.size() + item.size() + kEnd > kMarkdownLimit) break;
      part += item;
      ++told;
    }
    if (told < gate.eager->changes.size())
      part += "\n" + and_more(gate.eager->changes.size() - told) + "\n";
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
  Json rows = Json::array();
  for (const GateRow& row : rows_of(gate)) rows.push_back(row_json(row));
  Json unused = Json::array();
  for (const Allowance* each : gate.unused) unused.push_back(each->where);
  Json json = {{"format", 1},
               {"before", about(*gate.before)},
               {"after", about(*gate.after)},
               {"failing", gate.failing()},
               {"unchanged", gate.unchanged},
               {"unlike", gate.unlike},
               {"counts", std::move(counts)},
               {"rows", std::move(rows)},
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
