#include "reports/gate_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.h"
#include "record/alike.h"
#include "record/tally.h"
#include "reports/closing.h"
#include "reports/gate_flow.h"
#include "reports/html/assets.h"
#include "reports/markup.h"
#include "reports/story.h"

namespace lockstep {
namespace {

constexpr std::size_t kVerdictsListed = 200;  ///< of a row

/// The look of a row: as that of a verdict that does the same to a run.
const ColumnInfo& look_of(const GateRow& row) {
  const Transition transition = row.transition;
  const Column column = row.fails                              ? Column::failing
                        : row.allowed != nullptr               ? Column::waived
                        : transition >= Transition::now_judged ? Column::fixed
                        : transition == Transition::grade_lost ||
                                transition == Transition::changed || info(transition).fails
                            ? Column::known
                            : Column::skipped;
  return all_columns()[static_cast<std::size_t>(column)];
}

/// How many a list leaves out, as its last element.
std::string left_out(std::string_view tag, std::size_t count) {
  return fmt::format("<{0}>{1}, which <code>gate --json</code> has</{0}>\n", tag, and_more(count));
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
  return fmt::format("<span class=\"badge kind-{}\">{}{}</span>", look.name,
                     glyph_markup(look.glyph), html_text(label));
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

/// "conform (bits) → value diverges": what became of a verdict.
std::string turn(const Gate& gate, const Change& change) {
  const Verdict* before = verdict_in(gate.before, change.before);
  const Verdict* after = verdict_in(gate.after, change.after);
  return fmt::format("{} <span aria-label=\"became\">→</span> {}",
                     before != nullptr ? badge(*before) : "<i>nothing</i>",
                     after != nullptr ? badge(*after) : "<i>nothing</i>");
}

/// What happened, in the words of the smallest verdict that shows it.
std::string why(const Gate& gate, const GateRow& row) {
  const Change& change = row.example->change;
  if (!row.is_of_verdicts())
    return fmt::format("<p>{}</p>\n", html_text(one_line(change.text, 2000)));
  const Verdict* before = verdict_in(gate.before, change.before);
  const Verdict* after = verdict_in(gate.after, change.after);
  const Verdict& told = after != nullptr ? *after : *before;
  const bool conforms = told.found.status == Status::conform;
  std::string text = fmt::format("<p class=\"turn\">{}</p>\n", turn(gate, change));
  text += fmt::format(
      "<p class=\"why\">{}</p>\n",
      html_text(one_line(
          conforms && before != nullptr ? "it was: " + headline(*before) : headline(told), 1000)));
  return text;
}

/// Who knows of it: the suite, the reports, the one who lets it pass.
std::string accounts(const GateRow& row) {
  std::string text;
  if (!row.explained.empty())
    text += fmt::format("<p class=\"why\">who did it: {}</p>\n",
                        html_text(one_line(row.explained, 1000)));
  if (row.known != nullptr)
    text += fmt::format("<p class=\"why\">known: {}</p>\n",
                        html_text(one_line(row.known->reason, 1000)));
  if (!row.links.empty()) {
    text += "<p class=\"why\">";
    for (const std::string& link : row.links)
      text += fmt::format("{} ", link_to(one_line(link, 1000)));
    text += "</p>\n";
  }
  if (row.allowed == nullptr) return text;
  text += fmt::format("<p class=\"allowed\">allowed by {}: {}", html_text(row.allowed->where),
                      html_text(row.allowed->reason));
  if (row.allowed->link.starts_with("https://")) text += " " + link_to(row.allowed->link);
  return text + "</p>\n";
}

/// Its verdicts, where there are several.
std::string verdicts_of(const Gate& gate, const GateRow& row) {
  if (row.changes.size() < 2) return {};
  std::string text = fmt::format("<details><summary>{} verdicts</summary><ul class=\"verdicts\">\n",
                                 grouped(row.changes.size()));
  for (std::size_t i = 0; i < std::min(row.changes.size(), kVerdictsListed); ++i) {
    const Change& change = row.changes[i]->change;
    text += fmt::format("<li><code>{}</code> <span class=\"turn\">{}</span></li>\n",
                        breakable(change.id), turn(gate, change));
  }
  if (row.changes.size() > kVerdictsListed)
    text += left_out("li", row.changes.size() - kVerdictsListed);
  return text + "</ul></details>\n";
}

/// A link from the page to a file that is there, with what stands behind # in its address.
std::string link_to_file(const GatePlaces& places, const std::filesystem::path& file,
                         std::string_view fragment, std::string_view text) {
  std::error_code error;
  if (places.page.empty() || !std::filesystem::is_regular_file(file, error)) return {};
  const std::string from = std::filesystem::relative(file, places.page, error).generic_string();
  if (error || from.empty()) return {};
  return fmt::format("<a href=\"{}{}\">{}</a> ", url_path(from), html_text(fragment),
                     html_text(text));
}

/// Where the case of a row stands, and the pages of the runs.
std::string files_of(const Gate& gate, const GateRow& row, const GatePlaces& places) {
  const CaseFacts& facts = row.example->told->facts;
  std::string links;
  const bool below = !facts.case_file.empty() && !facts.own &&
                     facts.case_file.find("..") == std::string::npos &&
                     !facts.case_file.starts_with('/');
  if (below) links += link_to_file(places, places.suite / facts.case_file, "", facts.case_file);
  const std::string at = "#id=" + url_path(facts.id);
  if (row.example->change.before)
    links += link_to_file(places, gate.before->directory / "report.html", at, "page before");
  if (row.example->change.after)
    links += link_to_file(places, gate.after->directory / "report.html", at, "page after");
  return links.empty() ? "" : fmt::format("<p class=\"why\">{}</p>\n", links);
}

std::string item(const Gate& gate, const GateRow& row, const GatePlaces& places) {
  const Change& change = row.example->change;
  const ColumnInfo& look = look_of(row);
  const Verdict* before = verdict_in(gate.before, change.before);
  const Verdict* after = verdict_in(gate.after, change.after);
  std::string text =
      fmt::format("<li class=\"change kind-{}\">{}<div>\n<p class=\"id\"><code>{}</code>{}</p>\n",
                  look.name, glyph_markup(look.glyph), breakable(row.name),
                  row.is_of_verdicts()
                      ? fmt::format(" <span class=\"about\">{}</span>", html_text(about_row(row)))
                      : "");
  text += why(gate, row) + accounts(row);
  if (before == nullptr && after == nullptr) return text + "</div></li>\n";
  text += fmt::format("<p class=\"why\"><code>{}</code></p>\n", breakable(change.id));
  text += files_of(gate, row, places);
  text += copied_command((after != nullptr ? *after : *before).origin.repro);
  text += "<details><summary>what both runs say</summary><div class=\"stories\">";
  if (before != nullptr) text += story("before", *before);
  if (after != nullptr) text += story("after", *after);
  return text + "</div></details>\n" + verdicts_of(gate, row) + "</div></li>\n";
}

/// Whether a text is the hash of a commit.
bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
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
  row("torch", said_by(a.environment, "eager", "torch"), said_by(b.environment, "eager", "torch"));
  row("commit of torch", said_by(a.environment, "eager", "torch_git").substr(0, 12),
      said_by(b.environment, "eager", "torch_git").substr(0, 12));
  row("CPU", said_by(a.environment, "machine", "cpu"), said_by(b.environment, "machine", "cpu"));
  row("torch's CPU level", said_by(a.environment, "eager", "cpu_capability"),
      said_by(b.environment, "eager", "cpu_capability"));
  row("Lockstep", a.info.version, b.info.version);
  row("level", a.info.level, b.info.level);
  row("started", a.info.started, b.info.started);
  row("verdicts", grouped(a.verdicts.size()), grouped(b.verdicts.size()));
  const Tally was = tally(a, false), is = tally(b, false);
  for (const ColumnInfo* column : columns_as_read()) {
    if (was[column->column] + is[column->column] > 0)
      row(column->name, grouped(was[column->column]), grouped(is[column->column]));
  }
  const std::string was_at = said_by(a.environment, "eager", "torch_git"),
                    is_at = said_by(b.environment, "eager", "torch_git");
  if (is_commit(was_at) && is_commit(is_at) && was_at != is_at)
    rows += fmt::format(
        "<tr><th scope=\"row\">what torch changed</th><td colspan=\"2\">{}</td></tr>\n",
        link_to(fmt::format("https://github.com/pytorch/pytorch/compare/{}...{}", was_at, is_at)));
  return fmt::format(
      "<table class=\"setting-table\"><caption>What was compared</caption>\n<thead><tr><td></td>"
      "<th scope=\"col\">before</th><th scope=\"col\">after</th></tr></thead>\n<tbody>\n{}</tbody>"
      "</table>\n",
      rows);
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
      told < eager.changes.size() ? left_out("p", eager.changes.size() - told) : "";
  return fmt::format(
      "<section id=\"eager\" class=\"kind-skipped\">\n<h2>eager with eager <span "
      "class=\"count\">{}</span></h2>\n<p class=\"meaning\">{}. It was asked for, and closes no "
      "gate.</p>\n<table class=\"setting-table\"><tbody>\n{}</tbody></table>\n{}</section>\n",
      grouped(eager.changes.size()), html_text(eager_line(eager)), rows, more);
}

/// The first lines: in what the runs are not alike.
std::string unlike_list(const Gate& gate) {
  if (gate.unlike.empty()) return {};
  std::string text = "<div class=\"unlike\"><p>Not compared like with like:</p><ul>\n";
  for (const std::string& line : gate.unlike)
    text += fmt::format("<li>{}</li>\n", html_text(one_line(line, 1000)));
  return text + "</ul></div>\n";
}

/// The rows of one transition.
std::string section(const Gate& gate, const std::vector<const GateRow*>& rows,
                    const ColumnInfo& look, std::size_t room, const GatePlaces& places) {
  const TransitionInfo& facts = info(rows.front()->transition);
  const bool closes = std::any_of(rows.begin(), rows.end(), [](auto* row) { return row->fails; });
  std::string text = fmt::format(
      "<section id=\"{}\" class=\"kind-{}\">\n<h2>{}{} <span class=\"count\">{}</span></h2>\n"
      "<p class=\"meaning\">{}{}.</p>\n<ul>\n",
      facts.name, look.name, glyph_markup(look.glyph), facts.label, grouped(rows.size()),
      html_text(facts.meaning), closes ? "; it closes the gate" : "");
  std::size_t told = 0;
  for (const GateRow* row : rows) {
    std::string next = item(gate, *row, places);
    if (text.size() + next.size() > room) break;
    text += next;
    ++told;
  }
  text += "</ul>\n";
  if (told < rows.size()) text += left_out("p", rows.size() - told);
  return text + "</section>\n";
}

}  // namespace

std::string gate_page(const Gate& gate, std::size_t limit, const GatePlaces& places) {
  const std::vector<GateRow> rows = rows_of(gate);
  const auto changes_of = gate.by_transition();
  std::map<Transition, std::vector<const GateRow*>> groups;
  for (const GateRow& row : rows) groups[row.transition].push_back(&row);
  std::string counts, sections;
  for (const auto& [transition, group] : groups) {
    const std::vector<const GatedChange*>& changes = changes_of.at(transition);
    const std::size_t failing = failing_of(changes);
    // As the worst of them: what fails, or what was not let pass.
    const GateRow* worst = *std::min_element(
        group.begin(), group.end(),
        [](const auto* a, const auto* b) { return look_of(*a).column < look_of(*b).column; });
    const ColumnInfo& look = look_of(*worst);
    counts += fmt::format(
        "<a class=\"figure kind-{}\" href=\"#{}\"><b>{}</b> <span>{}{}</span></a>\n", look.name,
        info(transition).name, grouped(changes.size()), info(transition).label,
        failing == 0 || failing == changes.size() ? ""
                                                  : fmt::format(", {} failing", grouped(failing)));
    sections += section(gate, group, look, limit - std::min(limit, sections.size()), places);
  }
  if (groups.empty()) sections = "<p>Every verdict says what it said.</p>\n";
  for (const Allowance* each : gate.unused)
    sections += fmt::format("<p>{}: <code>{}</code> lets nothing pass: remove it</p>\n",
                            html_text(each->where), info(each->transition).name);
  if (gate.eager) sections += eager_table(*gate.eager, limit / 4);
  const ColumnInfo& look =
      all_columns()[static_cast<std::size_t>(gate.is_open() ? Column::conform : Column::failing)];
  return filled(
      html_assets::gate_page,
      {{"title", fmt::format("Lockstep: the gate is {}", gate.is_open() ? "open" : "closed")},
       {"style", fmt::format("{}{}", html_assets::style, html_assets::gate_style)},
       {"script", std::string(html_assets::gate_script)},
       {"about", "from one run to another"},
       {"kind", std::string(look.name)},
       {"glyph", glyph_markup(look.glyph)},
       {"gate", gate.is_open() ? "The gate is open" : "The gate is closed"},
       {"outcome", html_text(gate_reason(gate, rows))},
       {"unlike", unlike_list(gate)},
       {"flow", gate_flow(gate)},
       {"setting", setting_table(gate)},
       {"counts", counts},
       {"sections", sections}});
}

}  // namespace lockstep
