#include "reports/case_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "reports/text.h"

namespace lockstep {
namespace {

/// Text that a table's cell shows as it is, and that is still read easily in the file.
std::string cell(std::string_view text, std::size_t limit = 500) {
  std::string result;
  for (const char c : one_line(clean(text), limit)) {
    if (c == '<' || c == '>' || c == '&') {
      result += c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;";
    } else {
      if (std::string_view("\\`*_[]|~#").find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
  }
  return result;
}

/// Dynamo alone, then AOTAutograd, then decompositions, then Inductor's own lowering and code.
constexpr std::array<std::string_view, 4> kLadder = {"eager", "aot_eager", "aot_eager_decomp",
                                                     "inductor"};

/// The verdicts of one case: its instances differ by matrix and device alone.
struct CaseRow {
  const Verdict* first = nullptr;
  std::set<std::string> operators;
  /// What happened ("value differs (bug)") → path → instances
  std::map<std::string, std::map<std::string, std::size_t>> findings;
  std::map<std::string, std::size_t> instances;  ///< by path
  std::set<std::string> departed;                ///< paths
};

bool departs(const Verdict& verdict) {
  return info(verdict.found.status).fails && verdict.found.status != Status::harness;
}

std::string finding(const Verdict& verdict) {
  const bool expected =
      verdict.account.expectation &&
      (verdict.account.standing == Standing::known || verdict.account.standing == Standing::waived);
  std::string text(info(verdict.found.status).label);
  if (expected) return fmt::format("{} ({})", text, name_of(verdict.account.expectation->because));
  return departs(verdict) ? text + " (new)" : text;
}

/// Digits before letters: reports are read by number, and numbers have five or six digits.
std::vector<std::pair<std::string, CaseRow>> rows_of(const RunRecord& record,
                                                     const std::set<std::string>& paths) {
  std::map<std::string, CaseRow> rows;
  for (const Verdict& verdict : record.verdicts) {
    if (!paths.contains(verdict.facts.path)) continue;
    CaseRow& row = rows[verdict.facts.case_file];
    if (row.first == nullptr || verdict.facts.id < row.first->facts.id) row.first = &verdict;
    row.operators.insert(verdict.facts.operators.begin(), verdict.facts.operators.end());
    ++row.instances[verdict.facts.path];
    if (departs(verdict)) row.departed.insert(verdict.facts.path);
    if (verdict.found.status != Status::conform)
      ++row.findings[finding(verdict)][verdict.facts.path];
  }
  std::vector<std::pair<std::string, CaseRow>> sorted(rows.begin(), rows.end());
  const auto number = [](const std::string& file) {
    const std::size_t name = file.rfind('/') + 1;
    const std::size_t end = file.find_first_not_of("0123456789", name);
    return file.substr(0, name) + std::string(20 - std::min<std::size_t>(20, end - name), '0') +
           file.substr(name);
  };
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& left, const auto& right) {
    return number(left.first) < number(right.first);
  });
  return sorted;
}

std::string findings_text(const CaseRow& row) {
  std::string text;
  for (const auto& [what, paths] : row.findings) {
    std::string names;
    for (const auto& [path, count] : paths) {
      const std::size_t all = row.instances.at(path);
      names += (names.empty() ? "" : ", ") + path;
      if (count < all) names += fmt::format(" {} of {}", count, all);
    }
    text += (text.empty() ? "" : "; ") + cell(what + ": " + names, 2000);
  }
  return text.empty() ? "conforms" : text;
}

std::string joined(const auto& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return cell(text, 400);
}

std::string departure(const CaseRow& row) {
  for (const std::string_view path : kLadder) {
    if (row.departed.contains(std::string(path))) return cell(path);
  }
  return row.departed.empty() ? "–" : cell(*row.departed.begin());
}

}  // namespace

std::string case_table(const RunRecord& record) {
  // A path that this torch does not have at all says nothing of any case.
  std::set<std::string> paths, absent;
  for (const Verdict& verdict : record.verdicts) {
    absent.insert(verdict.facts.path);
    if (verdict.found.status != Status::unsupported) paths.insert(verdict.facts.path);
  }
  for (const std::string& path : paths) absent.erase(path);
  const auto rows = rows_of(record, paths);
  std::set<std::string> torches;
  for (const auto& [worker, values] : record.environment.items()) {
    if (values.is_object() && values.contains("torch") && values["torch"].is_string())
      torches.insert(values["torch"].get<std::string>());
  }
  std::size_t depart = 0;
  for (const auto& [file, row] : rows) depart += row.departed.empty() ? 0 : 1;
  std::string text = fmt::format(
      "# What the cases say, and where the compiler departs\n\n"
      "Written by `ci/lockstep run … --case-table FILE`, not by hand.\n\n"
      "{} cases, of which {} depart from eager somewhere, with torch {} on the paths {}.{}\n\n"
      "| case | it says | tags | operators | departs at | paths that do not conform |\n"
      "|:--|:--|:--|:--|:--|:--|\n",
      grouped(rows.size()), grouped(depart), joined(torches), joined(paths),
      absent.empty() ? "" : " It has none of " + joined(absent) + ".");
  for (const auto& [file, row] : rows) {
    const Verdict& verdict = *row.first;
    const std::string name = file.substr(file.rfind('/') + 1);
    const std::string report =
        verdict.facts.links.empty() || !verdict.facts.links.front().starts_with("https://")
            ? ""
            : fmt::format(" ([report](<{}>))", cell(verdict.facts.links.front()));
    text += fmt::format("| [{}]({}){} | {} | {} | {} | {} | {} |\n",
                        cell(name.substr(0, name.rfind('.'))), cell(name), report,
                        cell(verdict.facts.title), joined(verdict.facts.tags),
                        joined(row.operators), departure(row), findings_text(row));
  }
  return text;
}

}  // namespace lockstep
