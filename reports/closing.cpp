#include "reports/closing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/launcher.h"
#include "base/text.h"
#include "record/coverage.h"
#include "record/judged.h"
#include "reports/by_path.h"
#include "reports/fingerprints.h"
#include "reports/ladder.h"
#include "reports/story.h"
#include "reports/text.h"
#include "reports/tolerated.h"

namespace lockstep {
namespace {

/// More known verdicts than this are listed only when asked for.
constexpr std::size_t kFewKnown = 20;
constexpr std::size_t kSlowest = 5;
constexpr std::size_t kReasons = 5;
constexpr std::size_t kTolerated = 20;

std::string known_section(const RunRecord& record, const Style& style,
                          const ClosingOptions& options) {
  std::vector<const Verdict*> known;
  for (const Verdict& verdict : record.verdicts) {
    const bool listed =
        verdict.account.standing == Standing::known || verdict.account.standing == Standing::waived;
    if (listed && !verdict.fails(options.strict)) known.push_back(&verdict);
  }
  // With --verbose each of them has had its line already.
  if (known.empty() || known.size() > kFewKnown || options.verbose || options.explained) return {};
  std::string text;
  for (const Verdict* verdict : known) text += one_line_of(style, *verdict, options.strict) + "\n";
  return text + "\n";
}

/// Why verdicts were skipped, most frequent first.
std::string skipped_section(const RunRecord& record, const Style& style, bool strict) {
  std::map<std::string, std::size_t> reasons;
  for (const Verdict& verdict : record.verdicts) {
    const bool skipped = info(verdict.found.status).junit == JunitElement::skipped;
    if (!skipped || verdict.fails(strict) || verdict.account.standing != Standing::new_) continue;
    ++reasons[fmt::format("{}: {}", info(verdict.found.status).label, headline(verdict))];
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

/// Counts by path.  A column that is 0 everywhere is left out, but for those that are always shown.
/// Where a row would be wider than `most` columns (unless that is 0), the path has a line of its
/// own.
std::string table(const RunRecord& record, const Style& style, bool strict, std::size_t most) {
  const std::vector<std::pair<std::string, Tally>> paths = tally_by_path(record, strict);
  const Tally total = tally(record, strict);
  std::vector<const ColumnInfo*> shown;
  for (const ColumnInfo* column : columns_as_read()) {
    if (column->always || total[column->column] > 0) shown.push_back(column);
  }
  std::size_t width = 5;
  for (const auto& [name, counts] : paths) width = std::max(width, columns(clean(name)));

  std::size_t row_width = width;
  for (const ColumnInfo* column : shown) row_width += 2 + column->name.size();
  const bool split = most > 0 && row_width > most;
  const auto row = [&](const std::string& name, const auto& cell) {
    std::string text = split ? name + "\n" : name + std::string(width - columns(name), ' ');
    for (const ColumnInfo* column : shown)
      text += fmt::format("  {:>{}}", cell(*column), column->name.size());
    return text;
  };
  const auto numbers = [&](const std::string& name, const Tally& counts) {
    const std::string text = row(name, [&](const ColumnInfo& column) {
      const std::size_t count = counts[column.column];
      return count == 0 ? std::string("-") : std::to_string(count);
    });
    return (counts[Column::failing] > 0 ? style.bad(text) : text) + "\n";
  };
  std::string text =
      style.faint(row("path", [](const ColumnInfo& column) { return column.name; })) + "\n";
  for (const auto& [name, counts] : paths) text += numbers(clean(name), counts);
  if (paths.size() > 1) text += numbers("total", total);
  return text + "\n";
}

std::string time_section(const RunRecord& record, const Style& style) {
  std::map<std::string, double> phases;
  std::vector<const Verdict*> slowest;
  for (const Verdict& verdict : record.verdicts) {
    for (const auto& [phase, seconds] : verdict.origin.phases) phases[phase] += seconds;
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
                      return a->origin.seconds != b->origin.seconds
                                 ? a->origin.seconds > b->origin.seconds
                                 : a->facts.index < b->facts.index;
                    });
  for (std::size_t i = 0; i < count; ++i) {
    text += style.faint(fmt::format("{:>12}  {}", format_seconds(slowest[i]->origin.seconds),
                                    clean(slowest[i]->facts.id))) +
            "\n";
  }
  return text.empty() ? text : text + "\n";
}

/// What conforms though it differs, worst first.
std::string tolerated_section(const RunRecord& record, const Style& style) {
  const std::vector<Tolerated> all = tolerated(record);
  if (all.empty()) return {};
  std::string text =
      fmt::format("{} though not equal in bits, worst first:\n",
                  counted(all.size(), "verdict") + (all.size() == 1 ? " conforms" : " conform"));
  for (std::size_t i = 0; i < std::min(kTolerated, all.size()); ++i)
    text += "    " + tolerated_line(style, all[i]) + "\n";
  if (all.size() > kTolerated) {
    text += style.faint(fmt::format("    {}: {}", and_more(all.size() - kTolerated),
                                    report_command(record, "--tolerated"))) +
            "\n";
  }
  return text + "\n";
}

std::string tolerances_section(const RunRecord& record, const Style& style) {
  std::string text;
  for (const auto& [path, tolerance] : declared_tolerances(record.info))
    text +=
        style.faint(fmt::format("{} declares {}", clean(path), one_line(clean(tolerance)))) + "\n";
  return text;
}

std::string unmatched_section(const RunRecord& record, const Style& style) {
  if (!record.end || record.info.shard || record.end->unmatched.empty()) return {};
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
  const StatusInfo& status = info(verdict.found.status);
  std::string why, link;
  std::string label(status.label);
  if (verdict.account.standing != Standing::new_ && verdict.account.expectation) {
    label = fmt::format("{} ({})", name_of(verdict.account.standing),
                        name_of(verdict.account.expectation->because));
    why = fmt::format("{}: {}", status.label, one_line(clean(verdict.account.expectation->reason)));
    link = clean(verdict.account.expectation->link);
  } else if (!verdict.found.reason.empty()) {
    why = headline(verdict);
  } else if (const Tolerated let_pass = tolerated(verdict); let_pass.output != nullptr) {
    why = describe(let_pass);
  }
  std::string text =
      fmt::format("{}  {}  {}", style.of(verdict, strict, label), clean(verdict.facts.id),
                  style.faint(format_seconds(verdict.origin.seconds)));
  if (!why.empty()) text += "  " + why;
  if (!link.empty()) text += "  " + style.faint(link);
  if (verdict.origin.shared > 0) text += "  " + style.faint(shared_remark(verdict));
  return text;
}

std::string tolerated_line(const Style& style, const Tolerated& let_pass) {
  const auto grade = let_pass.output->grade;
  return fmt::format("{}  {}  {}", style.odd(grade ? name_of(*grade) : "ungraded"),
                     one_line(clean(let_pass.verdict->facts.id)), describe(let_pass));
}

std::string conform_line(const Tally& counts) {
  if (counts[Column::conform] == 0) return {};
  std::vector<std::string> grades, remarks;
  const std::vector<std::string> names = grade_names();
  for (std::size_t grade = 0; grade < names.size(); ++grade) {
    if (counts.grades[grade] > 0)
      grades.push_back(fmt::format("{} {}", grouped(counts.grades[grade]), names[grade]));
  }
  if (counts.ungraded > 0) grades.push_back(grouped(counts.ungraded) + " without numbers");
  if (counts.weak > 0) remarks.push_back(grouped(counts.weak) + " weak");
  if (counts.vacuous > 0) remarks.push_back(grouped(counts.vacuous) + " vacuous");
  if (counts.partly > 0) remarks.push_back(grouped(counts.partly) + " partly executed by others");
  if (counts.stated > 0) remarks.push_back(grouped(counts.stated) + " executed as the path states");
  if (counts.warn_otherwise > 0)
    remarks.push_back(grouped(counts.warn_otherwise) + " with other warnings");
  return fmt::format("{} conform: {}{}{}", grouped(counts[Column::conform]),
                     fmt::join(grades, ", "), remarks.empty() ? "" : "; ",
                     fmt::join(remarks, ", "));
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
  std::string separator = ": ";
  for (const ColumnInfo* column : columns_as_read()) {
    const std::size_t count = counts[column->column];
    const bool said = column->column == Column::conform || column->column == Column::failing;
    if (count == 0 && !said) continue;
    text += fmt::format("{}{} {}", std::exchange(separator, ", "), grouped(count), column->name);
  }
  text += fmt::format(" in {}", format_seconds(seconds));
  if (counts.several > 0)
    text += fmt::format("; {} executed several times, {} of them unstable", grouped(counts.several),
                        grouped(counts.unsettled));
  if (counts.reused > 0)
    text += fmt::format("; {} of them made by an earlier run", grouped(counts.reused));
  if (counts.added > 0) text += fmt::format("; {} of the known by --known", grouped(counts.added));
  if (counts.unverified > 0)
    text += fmt::format("; {} of unverified cases", grouped(counts.unverified));
  const std::size_t more = tally(record, true)[Column::failing] - counts[Column::failing];
  if (more > 0) text += fmt::format("; {} more with --strict", grouped(more));
  return text;
}

std::string nothing_conforms(const RunRecord& record, bool strict) {
  const Tally counts = tally(record, strict);
  if (record.verdicts.empty() || counts[Column::conform] > 0 || counts[Column::failing] > 0)
    return {};
  std::vector<std::string> parts;
  for (const ColumnInfo* column : columns_as_read()) {
    if (const std::size_t count = counts[column->column]; count > 0)
      parts.push_back(fmt::format("{} {}", grouped(count), column->name));
  }
  return fmt::format("{}: nothing was found to conform", fmt::join(parts, ", "));
}

std::string report_command(const RunRecord& record, std::string_view flag) {
  // `latest` is not this run where it was given a directory of its own, and none before it ends.
  const std::string where =
      record.directory.empty() ? "" : shell_quote(record.directory.string()) + " ";
  return fmt::format("{} report {}{}", launcher(), where, flag);
}

std::string closing(const RunRecord& record, const Style& style, const ClosingOptions& options) {
  const Tally counts = tally(record, options.strict);
  const std::string last = totals_line(record, options.strict, options.seconds);
  const std::string by_grade = conform_line(counts);
  std::string too_little = judged_too_little(record, options.strict);
  if (!too_little.empty()) too_little = style.bad(too_little) + "\n";
  std::string none = nothing_conforms(record, options.strict);
  if (!none.empty()) none = style.odd(none) + "\n";
  std::string covered = coverage_line(record);
  if (!covered.empty()) covered = style.faint("executed and judged: " + covered) + "\n";
  const std::string end =
      tolerances_section(record, style) + (by_grade.empty() ? by_grade : by_grade + "\n") +
      covered + none + too_little +
      (counts[Column::failing] > 0 ? style.bad(last) : style.strong(last)) + "\n";
  if (options.quiet)
    return wrapped(none + too_little, options.columns) + wrapped(last + "\n", options.columns);
  return wrapped(known_section(record, style, options) +
                     skipped_section(record, style, options.strict) +
                     (options.verbose ? tolerated_section(record, style) : std::string()) +
                     fingerprints_text(record, style, options.strict, options.verbose) +
                     ladder_text(record, style, options.verbose),
                 options.columns) +
         table(record, style, options.strict, options.columns) +
         wrapped(time_section(record, style) + unmatched_section(record, style) + end,
                 options.columns);
}

}  // namespace lockstep
