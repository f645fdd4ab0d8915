#include "reports/gate_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "record/tally.h"
#include "reports/closing.h"
#include "reports/html/assets.h"
#include "reports/markup.h"
#include "reports/story.h"
#include "verdict/fingerprint.h"

namespace lockstep {
namespace {

constexpr std::size_t kFingerprintsNamed = 12;  ///< of each transition, the most frequent ones

/// The look of a change: as that of a verdict that does the same to a run.
const ColumnInfo& look_of(const GatedChange& each) {
  const Transition transition = each.change.transition;
  const Column column = each.fails                             ? Column::failing
                        : each.allowed != nullptr              ? Column::waived
                        : transition >= Transition::now_judged ? Column::fixed
                        : transition == Transition::grade_lost ||
                                transition == Transition::changed || info(transition).fails
                            ? Column::known
                            : Column::skipped;
  return all_columns()[static_cast<std::size_t>(column)];
}

std::string glyph_of(const ColumnInfo& look) {
  return fmt::format("<span class=\"glyph\" aria-hidden=\"true\">{}</span>", look.glyph);
}

/// An id, which may be broken at its signs.
std::string breakable(std::string_view id) {
  std::string text;
  for (const char c : html_text(id)) {
    if (c == '@' || c == '[') text += "<wbr>";
    text += c;
    if (c == '/' || c == ',') text += "<wbr>";
  }
  return text;
}

/// "= conform (bits)", "≠ value diverges".
std::string badge(const Verdict& verdict) {
  const ColumnInfo& look = all_columns()[static_cast<std::size_t>(column_of(verdict, false))];
  std::string label(info(verdict.found.status).label);
  if (verdict.found.grade) label += fmt::format(" ({})", name_of(*verdict.found.grade));
  if (verdict.account.standing != Standing::new_)
    label += fmt::format(", {}", name_of(verdict.account.standing));
  return fmt::format("<span class=\"badge kind-{}\">{}{}</span>", look.name, glyph_of(look),
                     html_text(label));
}

std::string story(std::string_view when, const Verdict& verdict) {
  return fmt::format(
      "<div><h4>{}</h4><pre>{}</pre></div>", when,
      html_text(story_text(
          verdict,
          {.title = false, .all_outputs = true, .error_limit = 2000, .output_limit = 2000})));
}

const Verdict* verdict_in(const RunRecord* record, const std::optional<std::size_t>& place) {
  return place ? &record->verdicts[*place] : nullptr;
}

std::string item(const Gate& gate, const GatedChange& each) {
  const Change& change = each.change;
  const ColumnInfo& look = look_of(each);
  const Verdict* before = verdict_in(gate.before, change.before);
  const Verdict* after = verdict_in(gate.after, change.after);
  std::string text =
      fmt::format("<li class=\"change kind-{}\">{}<div>\n<p class=\"id\"><code>{}</code></p>\n",
                  look.name, glyph_of(look), breakable(change.id));
  if (before == nullptr && after == nullptr) {
    text += fmt::format("<p>{}</p>\n", html_text(one_line(change.text, 2000)));
  } else {
    text += fmt::format("<p class=\"turn\">{} <span aria-label=\"became\">→</span> {}</p>\n",
                        before != nullptr ? badge(*before) : "<i>nothing</i>",
                        after != nullptr ? badge(*after) : "<i>nothing</i>");
    const Verdict& told = after != nullptr ? *after : *before;
    const bool conforms = told.found.status == Status::conform;
    text += fmt::format(
        "<p class=\"why\">{}</p>\n",
        html_text(one_line(
            conforms && before != nullptr ? "it was: " + headline(*before) : headline(told),
            1000)));
    if (told.account.expectation && told.account.standing == Standing::known)
      text += fmt::format("<p class=\"why\">known: {}</p>\n",
                          html_text(one_line(told.account.expectation->reason, 1000)));
  }
  if (each.allowed != nullptr) {
    const Allowance& rule = *each.allowed;
    text += fmt::format("<p class=\"allowed\">allowed by {}: {}", html_text(rule.where),
                        html_text(rule.reason));
    if (rule.link.starts_with("https://"))
      text += fmt::format(" <a href=\"{0}\">{0}</a>", html_text(rule.link));
    text += "</p>\n";
  }
  if (before != nullptr || after != nullptr) {
    text += "<details><summary>what both runs say</summary><div class=\"stories\">";
    if (before != nullptr) text += story("before", *before);
    if (after != nullptr) text += story("after", *after);
    text += "</div></details>\n";
  }
  return text + "</div></li>\n";
}

/// What two runs were made of, side by side: where they differ, marked.
std::string setting_table(const Gate& gate) {
  std::string rows;
  const auto row = [&](std::string_view what, const std::string& before, const std::string& after) {
    if (before.empty() && after.empty()) return;
    rows += fmt::format("<tr{}><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>\n",
                        before == after ? "" : " class=\"differs\"", what, html_text(before),
                        html_text(after));
  };
  const RunRecord &a = *gate.before, &b = *gate.after;
  row("torch", said_by(a, "eager", "torch"), said_by(b, "eager", "torch"));
  row("commit of torch", said_by(a, "eager", "torch_git").substr(0, 12),
      said_by(b, "eager", "torch_git").substr(0, 12));
  row("CPU", said_by(a, "machine", "cpu"), said_by(b, "machine", "cpu"));
  row("torch's CPU level", said_by(a, "eager", "cpu_capability"),
      said_by(b, "eager", "cpu_capability"));
  row("Lockstep", a.info.version, b.info.version);
  row("level", a.info.level, b.info.level);
  row("started", a.info.started, b.info.started);
  row("verdicts", grouped(a.verdicts.size()), grouped(b.verdicts.size()));
  const Tally was = tally(a, false), is = tally(b, false);
  for (const ColumnInfo* column : columns_as_read()) {
    if (was[column->column] + is[column->column] > 0)
      row(column->name, grouped(was[column->column]), grouped(is[column->column]));
  }
  return fmt::format(
      "<table class=\"setting-table\"><caption>What was compared</caption>\n<thead><tr><td></td>"
      "<th scope=\"col\">before</th><th scope=\"col\">after</th></tr></thead>\n<tbody>\n{}</tbody>"
      "</table>\n",
      rows);
}

/// The fingerprints that its verdicts have most often, each a word to filter by.
std::string fingerprints_of_group(const Gate& gate, const std::vector<const GatedChange*>& group) {
  std::map<std::string, std::size_t> counts;
  for (const GatedChange* each : group) {
    const Verdict* after = verdict_in(gate.after, each->change.after);
    const Verdict* before = verdict_in(gate.before, each->change.before);
    const Verdict* told =
        after != nullptr && after->found.status != Status::conform ? after : before;
    if (told == nullptr) continue;
    for (const Fingerprint& fingerprint : fingerprints_of(*told)) ++counts[fingerprint.name];
  }
  std::vector<std::pair<std::string, std::size_t>> fingerprints(counts.begin(), counts.end());
  std::stable_sort(fingerprints.begin(), fingerprints.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (fingerprints.empty()) return {};
  std::string text = "<p class=\"chips\">";
  for (std::size_t i = 0; i < std::min(fingerprints.size(), kFingerprintsNamed); ++i)
    text += fmt::format(
        "<button type=\"button\" class=\"chip\" data-find=\"{0}\">{0} <b>{1}</b></button>\n",
        html_text(fingerprints[i].first), grouped(fingerprints[i].second));
  if (fingerprints.size() > kFingerprintsNamed)
    text += fmt::format("<span>and {} more fingerprints</span>",
                        fingerprints.size() - kFingerprintsNamed);
  return text + "</p>\n";
}

/// What eager itself does otherwise, in a table of its own.
std::string eager_table(const EagerComparison& eager, std::size_t limit) {
  std::string rows;
  std::size_t told = 0;
  for (const EagerChange& each : eager.changes) {
    if (rows.size() > limit) break;
    rows += fmt::format("<tr class=\"change\"><td><code>{}</code></td><td>{}</td></tr>\n",
                        breakable(each.instance), html_text(each.text));
    ++told;
  }
  const std::string more =
      told < eager.changes.size()
          ? fmt::format("<p>and {} more, which <code>gate --json</code> has</p>\n",
                        grouped(eager.changes.size() - told))
          : "";
  return fmt::format(
      "<section id=\"eager\" class=\"kind-skipped\">\n<h2>eager with eager <span "
      "class=\"count\">{}</span></h2>\n<p class=\"meaning\">{}. It was asked for, and closes no "
      "gate.</p>\n<table class=\"setting-table\"><tbody>\n{}</tbody></table>\n{}</section>\n",
      grouped(eager.changes.size()), html_text(eager_line(eager)), rows, more);
}

}  // namespace

std::string gate_page(const Gate& gate, std::size_t limit) {
  const auto groups = gate.by_transition();
  std::string counts, sections;
  for (const auto& [transition, group] : groups) {
    const TransitionInfo& facts = info(transition);
    const std::size_t failing = failing_of(group);
    // As the worst of them: what fails, or what was not let pass.
    const GatedChange* worst = *std::min_element(
        group.begin(), group.end(),
        [](const auto* a, const auto* b) { return look_of(*a).column < look_of(*b).column; });
    const ColumnInfo& look = look_of(*worst);
    counts += fmt::format(
        "<a class=\"figure kind-{}\" href=\"#{}\"><b>{}</b> <span>{}{}</span></a>\n", look.name,
        facts.name, grouped(group.size()), facts.label,
        failing == 0 || failing == group.size() ? ""
                                                : fmt::format(", {} failing", grouped(failing)));
    sections += fmt::format(
        "<section id=\"{}\" class=\"kind-{}\">\n<h2>{}{} <span class=\"count\">{}</span></h2>\n"
        "<p class=\"meaning\">{}{}.</p>\n{}<ul>\n",
        facts.name, look.name, glyph_of(look), facts.label, grouped(group.size()),
        html_text(facts.meaning), failing > 0 ? "; it closes the gate" : "",
        fingerprints_of_group(gate, group));
    std::size_t told = 0;
    for (const GatedChange* each : group) {
      std::string next = item(gate, *each);
      if (sections.size() + next.size() > limit) break;
      sections += next;
      ++told;
    }
    sections += "</ul>\n";
    if (told < group.size())
      sections += fmt::format("<p>and {} more, which <code>gate --json</code> has</p>\n",
                              grouped(group.size() - told));
    sections += "</section>\n";
  }
  if (groups.empty()) sections = "<p>Every verdict says what it said.</p>\n";
  for (const Allowance* each : gate.unused)
    sections += fmt::format("<p>{}: <code>{}</code> lets nothing pass: remove it</p>\n",
                            html_text(each->where), info(each->transition).name);
  if (gate.eager) sections += eager_table(*gate.eager, limit / 4);
  const bool closed = gate.failing() > 0;
  const ColumnInfo& look =
      all_columns()[static_cast<std::size_t>(closed ? Column::failing : Column::conform)];
  const std::string outcome = html_text(gate_counts(gate));
  return filled(html_assets::gate_page,
                {{"title", "Lockstep: the gate is " + std::string(closed ? "closed" : "open")},
                 {"style", fmt::format("{}{}", html_assets::style, html_assets::gate_style)},
                 {"script", std::string(html_assets::gate_script)},
                 {"kind", std::string(look.name)},
                 {"glyph", glyph_of(look)},
                 {"gate", closed ? "The gate is closed" : "The gate is open"},
                 {"outcome", outcome},
                 {"setting", setting_table(gate)},
                 {"counts", counts},
                 {"sections", sections}});
}

}  // namespace lockstep
