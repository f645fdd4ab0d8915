#include "reports/closing.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <vector>

#include "base/text.h"
#include "record/judged.h"
#include "reports/by_path.h"
#include "reports/explain.h"
#include "reports/text.h"

namespace lockstep {
namespace {

/// More known verdicts than this are listed only when asked for.
constexpr std::size_t kFewKnown = 20;
constexpr std::size_t kSlowest = 5;
constexpr std::size_t kReasons = 5;

std::string known_section(const RunRecord& record, const Style& style,
                          const ClosingOptions& options) {
  std::vector<const Verdict*> known;
  for (const Verdict& verdict : record.verdicts) {
    const bool listed = verdict.standing == Standing::known || verdict.standing == Standing::waived;
    if (listed && !verdict.fails(options.strict)) known.push_back(&verdict);
  }
  // With --verbose each of them has had its line already.
  if (known.empty() || known.size() > kFewKnown || options.verbose) return {};
  std::string text;
  for (const Verdict* verdict : known) text += one_line_of(style, *verdict, options.strict) + "\n";
  return text + "\n";
}

/// Why verdicts were skipped, most frequent first.
std::string skipped_section(const RunRecord& record, const Style& style, bool strict) {
  std::map<std::string, std::size_t> reasons;
  for (const Verdict& verdict : record.verdicts) {
    const bool skipped = info(verdict.status).junit == JunitElement::skipped;
    if (!skipped || verdict.fails(strict) || verdict.standing != Standing::new_) continue;
    ++reasons[fmt::format("{}: {}", info(verdict.status).label, headline(verdict))];
  }
  if (reasons.empty()) return {};
  std::vector<std::pair<std::string, std::size_t>> sorted(reasons.begin(), reasons.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text;
  for (std::size_t i = 0; i < std::min(kReasons, sorted.size()); ++i) {
    text += style.faint(fmt::format("{:>6} × {}", sorted[i].second, sorted[i].first)) + "\n";
  }
  if (sorted.size() > kReasons) {
    text += style.faint(fmt::format("{:>6} other reasons", sorted.size() - kReasons)) + "\n";
  }
  return text + "\n";
}

std::vector<std::size_t> numbers_of(const Tally& counts) {
  return {counts.conform, counts.failing, counts.known,
          counts.fixed,   counts.waived,  counts.skipped};
}

/// Counts by path.  A column without a number other than 0 is left out unless it is one of the
/// first three.
std::string table(const RunRecord& record, const Style& style, bool strict) {
  const std::vector<std::pair<std::string, Tally>> paths = tally_by_path(record, strict);
  const std::vector<std::string> titles = {"conform", "failing", "known",
                                           "fixed",   "waived",  "skipped"};
  const std::vector<std::size_t> total = numbers_of(tally(record, strict));
  std::size_t width = 5;
  for (const auto& [name, counts] : paths) width = std::max(width, columns(clean(name)));

  const auto row = [&](const std::string& name, const std::vector<std::string>& cells) {
    std::string text = name + std::string(width - columns(name), ' ');
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i < 3 || total[i] > 0) text += fmt::format("  {:>{}}", cells[i], titles[i].size());
    }
    return text;
  };
  const auto numbers = [&](const std::string& name, const std::vector<std::size_t>& counts) {
    std::vector<std::string> cells;
    for (const std::size_t count : counts)
      cells.push_back(count == 0 ? "-" : std::to_string(count));
    const std::string text = row(name, cells);
    return (counts[1] > 0 ? style.bad(text) : text) + "\n";
  };
  std::string text = style.faint(row("path", titles)) + "\n";
  for (const auto& [name, counts] : paths) text += numbers(clean(name), numbers_of(counts));
  if (paths.size() > 1) text += numbers("total", total);
  return text + "\n";
}

std::string time_section(const RunRecord& record, const Style& style) {
  std::map<std::string, double> phases;
  std::vector<const Verdict*> slowest;
  for (const Verdict& verdict : record.verdicts) {
    for (const auto& [phase, seconds] : verdict.phases) phases[phase] += seconds;
    slowest.push_back(&verdict);
  }
  std::vector<std::pair<std::string, double>> sorted(phases.begin(), phases.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> words;
  for (const auto& [phase, seconds] : sorted)
    words.push_back(clean(phase) + " " + format_seconds(seconds));
  std::string text;
  if (!words.empty()) text += fmt::format("time: {}\n", fmt::join(words, ", "));

  const std::size_t count = std::min(kSlowest, slowest.size());
  std::partial_sort(slowest.begin(), slowest.begin() + static_cast<std::ptrdiff_t>(count),
                    slowest.end(), [](const Verdict* a, const Verdict* b) {
                      return a->seconds != b->seconds ? a->seconds > b->seconds
                                                      : a->index < b->index;
                    });
  for (std::size_t i = 0; i < count; ++i) {
    text += style.faint(fmt::format("{:>12}  {}", format_seconds(slowest[i]->seconds),
                                    clean(slowest[i]->id))) +
            "\n";
  }
  return text.empty() ? text : text + "\n";
}

std::string unmatched_section(const RunRecord& record, const Style& style) {
  if (!record.end || record.end->unmatched.empty()) return {};
  std::string text = style.odd(fmt::format("{} met nothing in this run:",
                                           counted(record.end->unmatched.size(), "expectation"))) +
                     "\n";
  for (const UnmatchedExpectation& rule : record.end->unmatched) {
    text += fmt::format("    {}  {}\n", clean(rule.where), one_line(clean(rule.text)));
  }
  return text + "\n";
}

}  // namespace

std::string counted(std::size_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string one_line_of(const Style& style, const Verdict& verdict, bool strict) {
  const StatusInfo& status = info(verdict.status);
  std::string why, link;
  std::string label(status.label);
  if (verdict.standing != Standing::new_ && verdict.expectation) {
    label = fmt::format("{} ({})", name_of(verdict.standing), clean(verdict.expectation->because));
    why = fmt::format("{}: {}", status.label, one_line(clean(verdict.expectation->reason)));
    link = clean(verdict.expectation->link);
  } else if (!verdict.reason.empty()) {
    why = headline(verdict);
  }
  std::string text = fmt::format("{}  {}  {}", style.of(verdict, strict, label), clean(verdict.id),
                                 style.faint(format_seconds(verdict.seconds)));
  if (!why.empty()) text += "  " + why;
  if (!link.empty()) text += "  " + style.faint(link);
  if (verdict.shared > 0) text += "  " + style.faint(shared_remark(verdict));
  return text;
}

std::string unfinished_line(const RunRecord& record) {
  if (record.complete()) return {};
  const std::string_view how = !record.end               ? "killed, or still going on,"
                               : record.end->interrupted ? "interrupted"
                                                         : "stopped";
  return fmt::format("{} after {} of {}", how, grouped(record.verdicts.size()),
                     counted(record.info.planned, "verdict"));
}

std::string totals_line(const RunRecord& record, bool strict, double seconds) {
  const Tally counts = tally(record, strict);
  std::string text = unfinished_line(record);
  if (text.empty()) text = counted(record.verdicts.size(), "verdict");
  text += fmt::format(": {} conform, {} failing", grouped(counts.conform), grouped(counts.failing));
  const auto add = [&](std::size_t count, std::string_view word) {
    if (count > 0) text += fmt::format(", {} {}", grouped(count), word);
  };
  add(counts.known, "known");
  add(counts.fixed, "fixed");
  add(counts.waived, "waived");
  add(counts.skipped, "skipped");
  text += fmt::format(" in {}", format_seconds(seconds));
  const std::size_t more = tally(record, true).failing - counts.failing;
  if (more > 0) text += fmt::format("; {} more with --strict", grouped(more));
  return text;
}

std::string closing(const RunRecord& record, const Style& style, const ClosingOptions& options) {
  const Tally counts = tally(record, options.strict);
  const std::string last = totals_line(record, options.strict, options.seconds);
  std::string too_little = judged_too_little(record, options.strict);
  if (!too_little.empty()) too_little = style.bad(too_little) + "\n";
  return known_section(record, style, options) + skipped_section(record, style, options.strict) +
         table(record, style, options.strict) + time_section(record, style) +
         unmatched_section(record, style) + too_little +
         (counts.failing > 0 ? style.bad(last) : style.strong(last)) + "\n";
}

}  // namespace lockstep
