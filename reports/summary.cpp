#include "reports/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "record/causes.h"
#include "record/judged.h"
#include "reports/by_path.h"
#include "reports/causes.h"
#include "reports/closing.h"
#include "reports/explain.h"
#include "reports/text.h"
#include "verdict/cause.h"

namespace lockstep {
namespace {

constexpr std::size_t kAnnotations = 10;
constexpr std::size_t kListLimit = 64 * 1024;  ///< bytes of the sections that are no failures
constexpr std::size_t kStoryLimit = 8 * 1024;  ///< bytes of one failure

/// Text that Markdown and HTML both leave as it is, on one line.
std::string markdown(std::string_view text, std::size_t limit = 500) {
  std::string result;
  for (const char c : one_line(clean(text), limit)) {
    if (std::string_view("\\`*_{}[]()<>#+-!|~&\"'@:$").find(c) != std::string_view::npos) {
      result += fmt::format("&#{};", static_cast<int>(c));
    } else {
      result += c;
    }
  }
  return result;
}

std::string code(std::string_view text) { return "<code>" + markdown(text, 2000) + "</code>"; }

/// A fenced block that the text cannot end.
std::string fenced(const std::string& text) {
  std::size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fmt::format("{0}text\n{1}\n{0}\n", fence, text);
}

/// Verdicts that fail the run: first those of which nothing is known, as crashes, then the order of
/// the plan.
std::vector<const Verdict*> failing(const RunRecord& record, bool strict) {
  std::vector<const Verdict*> result;
  for (const Verdict& verdict : record.verdicts) {
    if (verdict.fails(strict)) result.push_back(&verdict);
  }
  std::stable_partition(result.begin(), result.end(), [](const Verdict* verdict) {
    return info(verdict->status).junit == JunitElement::error;
  });
  return result;
}

std::string_view label(const Verdict& verdict) {
  return verdict.standing == Standing::fixed ? name_of(verdict.standing)
                                             : info(verdict.status).label;
}

std::string table(const RunRecord& record, bool strict) {
  std::string head = "| path |", rule = "|:--|", rows;
  for (const ColumnInfo* column : columns_as_read()) {
    head += fmt::format(" {} |", column->name);
    rule += "--:|";
  }
  for (const auto& [path, counts] : tally_by_path(record, strict)) {
    rows += fmt::format("| {} |", markdown(path));
    for (const ColumnInfo* column : columns_as_read())
      rows += fmt::format(" {} |", counts[column->column]);
    rows += "\n";
  }
  return fmt::format("{}\n{}\n{}", head, rule, rows);
}

std::string story(const Verdict& verdict) {
  return fmt::format(
      "<details><summary><b>{}</b> {}<br>{}</summary>\n\n{}\n</details>\n\n", label(verdict),
      code(verdict.id), markdown(headline(verdict)),
      fenced(cut(explain_text(verdict, {.error_limit = 2048, .output_limit = 2048}), kStoryLimit)));
}

/// As many of `items` as fit into `limit` bytes, then how many do not.
template <class Items, class Write>
std::string as_many(const Items& items, std::size_t limit, Write write) {
  std::string text;
  std::size_t count = 0;
  for (const auto& item : items) {
    const std::string next = write(item);
    if (text.size() + next.size() > limit) break;
    text += next;
    ++count;
  }
  if (count < items.size()) text += fmt::format("\nand {} more\n", grouped(items.size() - count));
  return text;
}

std::string fixed_section(const RunRecord& record) {
  std::vector<const Verdict*> fixed;
  for (const Verdict& verdict : record.verdicts) {
    if (verdict.standing == Standing::fixed && verdict.expectation) fixed.push_back(&verdict);
  }
  if (fixed.empty()) return {};
  return "### Fixed\n\n" +
         as_many(fixed, kListLimit,
                 [](const Verdict* verdict) {
                   return fmt::format("- {}: {} no longer happens; remove {}\n", code(verdict->id),
                                      markdown(verdict->expectation->status),
                                      code(verdict->expectation->file));
                 }) +
         "\n";
}

/// The causes of what fails, where they group something.
std::string causes_section(const RunRecord& record, bool strict) {
  std::vector<CauseGroup> groups = cause_groups(record, strict);
  if (groups.empty() || groups.front().failing < 2) return {};  // they come first
  std::erase_if(groups, [](const CauseGroup& group) { return group.failing == 0; });
  return "### Causes of what fails\n\n| cause | verdicts | for example |\n|:--|:--|:--|\n" +
         as_many(groups, kListLimit,
                 [](const CauseGroup& group) {
                   return fmt::format("| {} | {} | {} |\n", code(group.name),
                                      markdown(describe(group)), code(group.example->id));
                 }) +
         "\n";
}

std::string unmatched_section(const RunRecord& record) {
  if (!record.end || record.end->unmatched.empty()) return {};
  return "### Expectations that met nothing\n\n" +
         as_many(record.end->unmatched, kListLimit,
                 [](const UnmatchedExpectation& rule) {
                   return fmt::format("- {} {}\n", code(rule.where), markdown(rule.text));
                 }) +
         "\n";
}

std::string environment_section(const RunRecord& record) {
  std::vector<std::string> rows;
  for (const auto& [worker, values] : record.environment.items()) {
    if (!values.is_object()) continue;
    for (const auto& [key, value] : values.items()) {
      const std::string text = value.is_string()
                                   ? value.get<std::string>()
                                   : value.dump(-1, ' ', false, Json::error_handler_t::replace);
      rows.push_back(
          fmt::format("| {} | {} | {} |\n", markdown(worker), markdown(key), markdown(text)));
    }
  }
  if (rows.empty()) return {};
  return "<details><summary>Environment</summary>\n\n| of | what | value |\n|:--|:--|:--|\n" +
         as_many(rows, kListLimit, [](const std::string& row) { return row; }) + "\n</details>\n";
}

/// What fails of one cause.
struct Failure {
  std::string cause;                 ///< the first of each of its verdicts
  const Verdict* example = nullptr;  ///< the smallest (is_smaller)
  std::size_t count = 0;             ///< of verdicts
};

/// Each verdict once, with those that have the same first cause, in the order in which the causes
/// are met; what has none (what is fixed) stands alone.
std::vector<Failure> by_cause(const std::vector<const Verdict*>& verdicts) {
  std::vector<Failure> failures;
  std::unordered_map<std::string, std::size_t> places;
  for (const Verdict* verdict : verdicts) {
    const std::vector<Cause> causes = causes_of(*verdict);
    if (causes.empty()) {
      failures.push_back({{}, verdict, 1});
      continue;
    }
    const auto [place, is_new] = places.emplace(causes.front().name, failures.size());
    if (is_new) failures.push_back({causes.front().name, verdict, 0});
    Failure& failure = failures[place->second];
    ++failure.count;
    if (is_smaller(*verdict, *failure.example)) failure.example = verdict;
  }
  return failures;
}

/// For the value of a property; a message may have colons and commas.
std::string command_value(std::string_view text, bool property) {
  std::string result;
  for (const char c : clean(text)) {
    switch (c) {
      case '%':
        result += "%25";
        break;
      case '\r':
        result += "%0D";
        break;
      case '\n':
        result += "%0A";
        break;
      case ':':
        result += property ? "%3A" : ":";
        break;
      case ',':
        result += property ? "%2C" : ",";
        break;
      default:
        result += c;
    }
  }
  return result;
}

}  // namespace

std::string summary(const RunRecord& record, bool strict, std::size_t limit) {
  const std::vector<const Verdict*> fails = failing(record, strict);
  const double seconds = record.end ? record.end->seconds : 0;
  const std::string too_little = judged_too_little(record, strict);
  const std::string none = nothing_conforms(record, strict);
  std::string notes = conform_line(tally(record, strict));
  if (!notes.empty()) notes += "\n\n";
  if (!too_little.empty()) notes += fmt::format("**{}**\n\n", markdown(too_little));
  for (const AbsentPath& path : record.info.absent_paths)
    notes += fmt::format("{}: {}; not run\n\n", code(path.name), markdown(path.reason));
  const std::string head =
      fmt::format("## Lockstep: {}\n\n{}\n\n{}{}\n",
                  !fails.empty()        ? fmt::format("{} failing", grouped(fails.size()))
                  : !too_little.empty() ? "too little is judged"
                  : !none.empty()       ? none
                                        : "nothing fails",
                  totals_line(record, strict, seconds), notes, table(record, strict)) +
      causes_section(record, strict);
  const std::string tail =
      fixed_section(record) + unmatched_section(record) + environment_section(record);
  // Room for a heading, and for the line that counts the rest.
  const std::size_t spent = head.size() + tail.size() + 100;
  std::string text = head;
  if (!fails.empty()) {
    text += "### Failing\n\n" + as_many(fails, limit > spent ? limit - spent : 0,
                                        [](const Verdict* verdict) { return story(*verdict); });
  }
  text += "\n" + tail;
  return text.size() <= limit ? text
                              : valid_utf8(text.substr(0, limit - std::min<std::size_t>(limit, 9)));
}

std::string github_annotations(const RunRecord& record, bool strict) {
  const std::vector<Failure> failures = by_cause(failing(record, strict));
  const std::string too_little = judged_too_little(record, strict);
  const std::size_t room = kAnnotations - (too_little.empty() ? 0 : 1);
  const std::size_t listed = failures.size() > room ? room - 1 : failures.size();
  std::string text;
  for (std::size_t i = 0; i < listed; ++i) {
    const Verdict& verdict = *failures[i].example;
    std::string story = fmt::format("{}\n{}\n", verdict.instance, headline(verdict));
    if (failures[i].count > 1) {
      story += fmt::format("{} of this cause: {}\n", counted(failures[i].count, "failing verdict"),
                           one_line(clean(failures[i].cause)));
    }
    text += fmt::format("::error file={},line={},title={}::{}\n",
                        command_value(verdict.case_file, true), verdict.case_line,
                        command_value(fmt::format("{} on {}", label(verdict), verdict.path), true),
                        command_value(story + one_line(clean(verdict.repro), 1000), false));
  }
  if (!too_little.empty())
    text += fmt::format("::error title=Lockstep::{}\n", command_value(too_little, false));
  if (listed < failures.size()) {
    std::size_t rest = 0;
    for (std::size_t i = listed; i < failures.size(); ++i) rest += failures[i].count;
    text += fmt::format("::error title=Lockstep::{} more {} of {}; the summary has them\n",
                        grouped(rest), rest == 1 ? "verdict fails" : "verdicts fail",
                        counted(failures.size() - listed, "other cause"));
  }
  return text;
}

}  // namespace lockstep
