#include "reports/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "record/coverage.h"
#include "record/fingerprints.h"
#include "record/judged.h"
#include "reports/by_path.h"
#include "reports/closing.h"
#include "reports/families.h"
#include "reports/markup.h"
#include "reports/story.h"
#include "reports/text.h"
#include "verdict/fingerprint.h"

namespace lockstep {
namespace {

constexpr std::size_t kAnnotations = 10;
constexpr std::size_t kListLimit = 6 * 1024;   ///< bytes of a section that is not of failures
constexpr std::size_t kStoryLimit = 2 * 1024;  ///< bytes of one failure
constexpr std::size_t kNames = 8;              ///< operators or dtypes of a group

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

/// Verdicts that fail the run: crashes and the like first, then in the order of the plan.
std::vector<const Verdict*> failing(const RunRecord& record, bool strict) {
  std::vector<const Verdict*> result;
  for (const Verdict& verdict : record.verdicts) {
    if (verdict.fails(strict)) result.push_back(&verdict);
  }
  std::stable_partition(result.begin(), result.end(), [](const Verdict* verdict) {
    return info(verdict->found.status).junit == JunitElement::error;
  });
  return result;
}

std::string_view label(const Verdict& verdict) {
  return verdict.account.standing == Standing::fixed ? name_of(verdict.account.standing)
                                                     : info(verdict.found.status).label;
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
  if (count < items.size()) text += fmt::format("\n{}\n", and_more(items.size() - count));
  return text;
}

/// Counts and rates by path; where paths judged other instances, also what can be compared.
std::string table(const RunRecord& record, bool strict) {
  const RatesByPath rates = rates_by_path(record);
  std::map<std::string_view, const RatesByPath::Of*> of;
  for (const RatesByPath::Of& each : rates.paths) of[each.path] = &each;
  std::string head = "| path |", rule = "|:--|";
  for (const ColumnInfo* column : columns_as_read()) {
    head += fmt::format(" {} |", column->name);
    rule += "--:|";
  }
  head += " conforming, of what is judged |";
  rule += "--:|";
  const bool common = rates.differ && rates.paths.front().common.judged > 0;
  if (common) {
    head += fmt::format(" of the {} that every path judged |",
                        counted(rates.paths.front().common.judged, "instance"));
    rule += "--:|";
  }
  return head + "\n" + rule + "\n" +
         as_many(tally_by_path(record, strict), kListLimit, [&](const auto& part) {
           const auto& [path, counts] = part;
           std::string row = fmt::format("| {} |", markdown(path));
           for (const ColumnInfo* column : columns_as_read())
             row += fmt::format(" {} |", counts[column->column]);
           const auto rate = of.find(path);
           const RatesByPath::Of none{path, {}, {}};
           const RatesByPath::Of& each = rate == of.end() ? none : *rate->second;
           row += " " + each.own.text();
           if (rates.differ) row += fmt::format(" of {}", grouped(each.own.judged));
           if (common) row += " | " + each.common.text();
           row += " |";
           return row + "\n";
         });
}

/// How far results may be off besides, as the paths declare it.
std::string tolerances_section(const RunRecord& record) {
  std::string text;
  for (const auto& [path, tolerance] : declared_tolerances(record.info)) {
    const std::string line =
        fmt::format("- {} declares {}\n", markdown(path), markdown(one_line(tolerance)));
    if (text.size() + line.size() <= kListLimit) text += line;
  }
  return text.empty() ? text : "\n" + text;
}

/// Which families conform in which dtypes, in percent of what is judged.
std::string families_section(const RunRecord& record) {
  std::map<std::string, std::map<std::string_view, Rate>> rows;  // by dtype, then by family
  std::map<std::string_view, Rate> sums;
  for (const Verdict& verdict : record.verdicts) {
    if (!info(verdict.found.status).judged()) continue;
    const std::string dtype = verdict.facts.dtypes.empty()       ? "no tensor"
                              : verdict.facts.dtypes.size() == 1 ? verdict.facts.dtypes.front()
                                                                 : "several";
    rows[dtype][family_of(verdict)].add(verdict);
    sums[family_of(verdict)].add(verdict);
  }
  if (rows.empty()) return {};
  std::vector<std::string_view> families;
  for (const Family& family : all_families()) {
    if (sums.contains(family.name)) families.push_back(family.name);
  }
  if (sums.contains("others")) families.push_back("others");
  std::string text = fmt::format(
      "### What conforms, by dtype and family\n\nPercent of what is judged; the tags of the case "
      "say the family, or its first operator.\n\n| dtype | {} |\n|:--|",
      fmt::join(families, " | "));
  for (std::size_t i = 0; i < families.size(); ++i) text += "--:|";
  const auto line = [&](const std::string& name, const std::map<std::string_view, Rate>& shares) {
    std::string row = fmt::format("| {} |", name);
    for (const std::string_view family : families) {
      const auto share = shares.find(family);
      row += fmt::format(" {} |", (share == shares.end() ? Rate{} : share->second).text());
    }
    return row + "\n";
  };
  return text + "\n" + line("all", sums) +
         as_many(rows, kListLimit,
                 [&](const auto& row) { return line(markdown(row.first), row.second); }) +
         "\n";
}

std::string fixed_section(const RunRecord& record) {
  std::vector<const Verdict*> fixed;
  for (const Verdict& verdict : record.verdicts) {
    if (verdict.account.standing == Standing::fixed && verdict.account.expectation)
      fixed.push_back(&verdict);
  }
  if (fixed.empty()) return {};
  return "### Fixed\n\n" +
         as_many(fixed, kListLimit,
                 [](const Verdict* verdict) {
                   return fmt::format("- {}: {} no longer happens; remove {}\n",
                                      markdown_code(verdict->facts.id),
                                      markdown(info(verdict->account.expectation->status).name),
                                      markdown_code(verdict->account.expectation->file));
                 }) +
         "\n";
}

std::string unmatched_section(const RunRecord& record) {
  if (!record.end || record.info.shard || record.end->unmatched.empty()) return {};
  return "### Expectations that met nothing\n\n" +
         as_many(record.end->unmatched, kListLimit,
                 [](const UnmatchedExpectation& rule) {
                   return fmt::format("- {} {}\n", markdown_code(rule.where), markdown(rule.text));
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

/// Verdicts of one fingerprint.
struct SameFingerprint {
  std::string fingerprint;           ///< the first of each of its verdicts
  const Verdict* example = nullptr;  ///< the smallest (is_smaller)
  std::size_t count = 0;             ///< of verdicts
  std::set<std::string> operators{}, dtypes{};

  void add(const Verdict& verdict) {
    ++count;
    operators.insert(verdict.facts.operators.begin(), verdict.facts.operators.end());
    dtypes.insert(verdict.facts.dtypes.begin(), verdict.facts.dtypes.end());
    if (example == nullptr || is_smaller(verdict, *example)) example = &verdict;
  }
};

/// Each verdict once, grouped by first fingerprint, in the order of their first verdicts. A verdict
/// without one (a fixed one) stands alone.
std::vector<SameFingerprint> by_fingerprint(const std::vector<const Verdict*>& verdicts) {
  std::vector<SameFingerprint> groups;
  std::unordered_map<std::string, std::size_t> places;
  for (const Verdict* verdict : verdicts) {
    const std::vector<Fingerprint> fingerprints = fingerprints_of(*verdict);
    const std::string fingerprint =
        fingerprints.empty() ? std::string() : fingerprints.front().name;
    const auto place = places.find(fingerprint);
    if (fingerprints.empty() || place == places.end()) {
      if (!fingerprints.empty()) places.emplace(fingerprint, groups.size());
      groups.push_back({fingerprint});
      groups.back().add(*verdict);
    } else {
      groups[place->second].add(*verdict);
    }
  }
  return groups;
}

/// The same, most verdicts first; but what is of JUnit's errors, as crashes, before all others.
std::vector<SameFingerprint> by_weight(const std::vector<const Verdict*>& verdicts) {
  std::vector<SameFingerprint> groups = by_fingerprint(verdicts);
  const auto weight = [](const SameFingerprint& group) {
    return std::pair(info(group.example->found.status).junit == JunitElement::error, group.count);
  };
  std::stable_sort(
      groups.begin(), groups.end(),
      [&](const SameFingerprint& a, const SameFingerprint& b) { return weight(a) > weight(b); });
  return groups;
}

/// "aten::add.Tensor, aten::mul.Tensor and 3 more".
std::string few(const std::set<std::string>& names) {
  std::vector<std::string> first(
      names.begin(),
      std::next(names.begin(), static_cast<std::ptrdiff_t>(std::min(kNames, names.size()))));
  return fmt::format("{}{}", fmt::join(first, ", "),
                     names.size() > kNames ? " " + and_more(names.size() - kNames) : "");
}

/// "<code>softshrink:eager-nan</code> 12 verdicts; aten::softshrink; bfloat16, float16".
std::string heading(const SameFingerprint& group) {
  std::string text = group.fingerprint.empty()
                         ? std::string()
                         : markdown_code(one_line(clean(group.fingerprint), 200)) + " ";
  text += counted(group.count, "verdict");
  for (const auto* names : {&group.operators, &group.dtypes}) {
    if (!names->empty()) text += "; " + markdown(few(*names));
  }
  return text;
}

std::string story(const SameFingerprint& group) {
  const Verdict& verdict = *group.example;
  return fmt::format(
      "<details><summary><b>{}</b> {}<br>{}: {}</summary>\n\n{}\n</details>\n\n", label(verdict),
      heading(group), markdown_code(one_line(clean(verdict.facts.id))), markdown(headline(verdict)),
      fenced(cut(story_text(verdict, {.error_limit = 1024, .output_limit = 512}), kStoryLimit)));
}

std::string short_story(const SameFingerprint& group) {
  return fmt::format("- **{}** {}: {}\n", label(*group.example), heading(group),
                     markdown_code(one_line(clean(group.example->origin.repro), 500)));
}

/// What fails by fingerprint within `limit` bytes: whole stories in two thirds of it, then lines.
std::string failing_section(const std::vector<const Verdict*>& fails, std::size_t limit) {
  if (fails.empty()) return {};
  const std::vector<SameFingerprint> groups = by_weight(fails);
  std::string text =
      fmt::format("### Failing, by fingerprint\n\n{} of {}.\n\n",
                  counted(fails.size(), "failing verdict"), counted(groups.size(), "fingerprint"));
  std::size_t told = 0;
  for (; told < groups.size(); ++told) {
    const std::string next = story(groups[told]);
    const std::size_t room = told + 1 == groups.size() ? limit : limit / 3 * 2;
    if (text.size() + next.size() > room) break;
    text += next;
  }
  // Room for the line that counts the rest.
  const std::size_t spent = text.size() + 40;
  return text +
         as_many(std::span(groups).subspan(told), limit > spent ? limit - spent : 0, short_story) +
         "\n";
}

/// What is known by fingerprint, folded.
std::string known_section(const RunRecord& record, bool strict) {
  std::vector<const Verdict*> known;
  for (const Verdict& verdict : record.verdicts) {
    if (verdict.account.standing == Standing::known && !verdict.fails(strict))
      known.push_back(&verdict);
  }
  if (known.empty()) return {};
  return fmt::format("<details><summary>Known, by fingerprint: {}</summary>\n\n{}\n</details>\n\n",
                     counted(known.size(), "verdict"),
                     as_many(by_weight(known), kListLimit, [](const SameFingerprint& group) {
                       return fmt::format("- {}: {}\n", heading(group),
                                          markdown(expectation_line(*group.example), 300));
                     }));
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
  if (const std::string covered = coverage_line(record); !covered.empty())
    notes += fmt::format("Executed and judged: {}\n\n", covered);
  if (!too_little.empty()) notes += fmt::format("**{}**\n\n", markdown(too_little));
  for (const AbsentPath& path : record.info.absent_paths)
    notes += fmt::format("{}: {}; not run\n\n", markdown_code(path.name), markdown(path.reason));
  const std::string head =
      fmt::format("## Lockstep: {}\n\n{}\n\n{}{}\n",
                  !fails.empty()        ? fmt::format("{} failing", grouped(fails.size()))
                  : !too_little.empty() ? "too little is judged"
                  : !none.empty()       ? none
                                        : "nothing fails",
                  totals_line(record, strict, seconds), notes, table(record, strict)) +
      families_section(record) + tolerances_section(record);
  const std::string tail = known_section(record, strict) + fixed_section(record) +
                           unmatched_section(record) + environment_section(record);
  const std::size_t spent = head.size() + tail.size() + 1;
  const std::string text =
      head + failing_section(fails, limit > spent ? limit - spent : 0) + "\n" + tail;
  return text.size() <= limit ? text
                              : valid_utf8(text.substr(0, limit - std::min<std::size_t>(limit, 9)));
}

std::string github_annotations(const RunRecord& record, bool strict) {
  const std::vector<SameFingerprint> failures = by_fingerprint(failing(record, strict));
  const std::string too_little = judged_too_little(record, strict);
  const std::size_t room = kAnnotations - (too_little.empty() ? 0 : 1);
  const std::size_t listed = failures.size() > room ? room - 1 : failures.size();
  std::string text;
  for (std::size_t i = 0; i < listed; ++i) {
    const Verdict& verdict = *failures[i].example;
    std::string story = fmt::format("{}\n{}\n", verdict.facts.instance, headline(verdict));
    if (failures[i].count > 1) {
      story +=
          fmt::format("{} of this fingerprint: {}\n", counted(failures[i].count, "failing verdict"),
                      one_line(clean(failures[i].fingerprint)));
    }
    text += fmt::format(
        "::error file={},line={},title={}::{}\n", command_value(verdict.facts.case_file, true),
        verdict.facts.case_line,
        command_value(fmt::format("{} on {}", label(verdict), verdict.facts.path), true),
        command_value(story + one_line(clean(verdict.origin.repro), 1000), false));
  }
  if (!too_little.empty())
    text += fmt::format("::error title=Lockstep::{}\n", command_value(too_little, false));
  if (listed < failures.size()) {
    std::size_t rest = 0;
    for (std::size_t i = listed; i < failures.size(); ++i) rest += failures[i].count;
    text += fmt::format("::error title=Lockstep::{} more {} of {}; the summary has them\n",
                        grouped(rest), rest == 1 ? "verdict fails" : "verdicts fail",
                        counted(failures.size() - listed, "other fingerprint"));
  }
  return text;
}

}  // namespace lockstep
