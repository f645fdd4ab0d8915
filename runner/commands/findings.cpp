#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/text.h"
#include "commands/commands.h"
#include "commands/errors.h"
#include "commands/reproducer.h"
#include "engine/scratch.h"
#include "requests/open.h"

namespace lockstep {
namespace {

/// One fault that nobody has reported: the verdict that shows it best, and the expectations that
/// know it, in other operators, dtypes or releases.
struct Finding {
  std::string example;  ///< id of a verdict
  std::vector<const Expectation*> rules;
  const PlanItem* item = nullptr;
};

/// In the order in which the expectations first name each example.
std::vector<Finding> findings_of(const std::vector<Expectation>& expectations) {
  std::vector<Finding> findings;
  for (const Expectation& rule : expectations) {
    if (rule.example.empty()) continue;
    auto found = std::find_if(findings.begin(), findings.end(), [&](const Finding& finding) {
      return finding.example == rule.example;
    });
    if (found == findings.end()) found = findings.insert(findings.end(), {rule.example, {}, {}});
    found->rules.push_back(&rule);
  }
  return findings;
}

/// Each value once, in the order in which the rules have it.
template <class Get>
std::vector<std::string> each_of(const std::vector<const Expectation*>& rules, const Get& get) {
  std::vector<std::string> values;
  for (const Expectation* rule : rules) {
    for (const std::string& value : get(*rule)) {
      if (!value.empty() && !contains(values, value)) values.push_back(value);
    }
  }
  return values;
}

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string codes(std::vector<std::string> texts) {
  for (std::string& text : texts) text = code(text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// What goes wrong by name: its fingerprints, or where a rule has none, its status.
std::vector<std::string> names_of(const Expectation& rule) {
  if (!rule.fingerprints.empty()) return rule.fingerprints;
  return {std::string(info(rule.status).name)};
}

std::vector<std::string> release_of(const Expectation& rule) {
  std::string text = rule.torch;
  if (!rule.cpu_levels.empty())
    text += fmt::format(" at the CPU level {}", fmt::join(rule.cpu_levels, " or "));
  return {text};
}

/// Who diverges, as a report names it.
std::string_view accused(const Path& path) {
  if (path.packages) return "AOTInductor";
  return path.declared.contains("export") ? "torch.export" : "torch.compile";
}

/// A section: its place, and the text to file.
std::string section(const Finding& finding, const Plan& plan, const std::string& script) {
  const Case& declared = *plan.instances[finding.item->instance].declared;
  const auto texts = [](std::string Expectation::*key) {
    return [key](const Expectation& rule) { return std::vector<std::string>{rule.*key}; };
  };
  const auto releases = each_of(finding.rules, release_of);
  std::string text = fmt::format("\n## {}\n\n", declared.title);
  text += fmt::format(
      "{}; torch {}; on {}. Case [{}](../cases/{}.json), the whole script: `ci/lockstep repro "
      "{}`.\n\n",
      codes(each_of(finding.rules, names_of)), fmt::join(releases, "; "),
      codes(each_of(finding.rules, [](const Expectation& rule) { return rule.paths; })),
      declared.id, declared.id, shell_quote(finding.example));
  text += fmt::format("````markdown\n{} diverges from eager: {}\n\n",
                      accused(plan.paths[finding.item->path]), declared.title);
  for (const std::string& reason : each_of(finding.rules, texts(&Expectation::reason)))
    text += reason + "\n\n";
  if (!script.empty()) text += fmt::format("```python\n{}```\n\n", script);
  const auto measured = each_of(finding.rules, texts(&Expectation::finding));
  for (const std::string& each : measured) text += fmt::format("Measured: {}.\n\n", each);
  text += fmt::format("torch {} on x86-64.\n````\n\n", fmt::join(releases, "; "));
  for (const std::string& each : each_of(finding.rules, texts(&Expectation::searched)))
    text += fmt::format("Searched: {}\n", each);
  return text;
}

constexpr const char* kHead =
    "# Findings\n\n"
    "What Lockstep found and no public report covers, each with a text that can be filed as it is. "
    "Written by `ci/lockstep findings --to expected/FINDINGS.md`\n"
    "from the expectations in [known/](known/) that are `unreported`; a test keeps it current. "
    "What "
    "has been reported since gets a link there, and a case in `cases/bugs/`.\n";

constexpr const char* kSmall =
    "\n## Of no consequence\n\n"
    "Under a contract of values these conform: the two sides round differently, and neither is "
    "wrong.\n\n"
    "| fingerprint | torch | at most | why | measured |\n|---|---|---|---|---|\n";

/// `text` in a cell of a table.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2)
    text.insert(at, 1, '\\');
  return text;
}

std::string row(const Expectation& rule) {
  return fmt::format("| {} | {} | {} | {} | {} |\n", codes(names_of(rule)),
                     release_of(rule).front(), rule.grade ? name_of(*rule.grade) : "",
                     cell(rule.reason), cell(rule.finding));
}

/// The plan of the examples, where each finding finds its item. A name that means nothing is an
/// error.
tl::expected<Plan, Exit> plan_of(const Session& session, std::vector<Finding>& findings) {
  std::vector<std::string> terms;
  for (const Finding& finding : findings) terms.push_back(finding.example);
  const auto filter = Filter::parse(terms);
  Diagnostics diagnostics;
  Plan plan = filter ? make_plan(session.plan_request(*filter), diagnostics) : Plan();
  print_diagnostics(diagnostics);
  bool missing = !filter || !diagnostics.empty();
  for (Finding& finding : findings) {
    const auto found =
        std::find_if(plan.items.begin(), plan.items.end(),
                     [&](const PlanItem& item) { return item.id == finding.example; });
    if (found != plan.items.end()) {
      finding.item = &*found;
      continue;
    }
    print_error(
        {fmt::format("{}: there is no verdict `{}`", finding.rules.front()->where, finding.example),
         "an example is the id of a verdict, such as `bugs/1[dtype=half]@cpu/inductor`"});
    missing = true;
  }
  if (missing) return tl::unexpected(Exit::usage);
  return plan;
}

}  // namespace

Exit command_findings(const FindingsOptions& options) {
  const auto session = open_session(options.basis, Torch::needed);
  if (!session) return tell(session.error());
  if (const auto had = need_operators(*session); !had) return tell(had.error());
  std::vector<Finding> findings = findings_of(session->suite().expectations);
  const auto plan = plan_of(*session, findings);
  if (!plan) return plan.error();
  std::vector<const PlanItem*> items;
  for (const Finding& finding : findings) items.push_back(finding.item);
  auto scratch = Scratch::create();
  const auto scripts = scratch
                           ? brief_scripts_of(*plan, items, session->settings(), scratch->path())
                           : tl::unexpected(scratch.error());
  if (!scripts) {
    print_error(scripts.error());
    return Exit::internal;
  }
  std::string text = kHead;
  for (std::size_t i = 0; i < findings.size(); ++i)
    text += section(findings[i], *plan, (*scripts)[i].value_or(""));
  std::string small;
  for (const Expectation& rule : session->suite().expectations) {
    if (rule.because == Because::unreported && rule.example.empty()) small += row(rule);
  }
  if (!small.empty()) text += kSmall + small;
  if (!write_answer(options.out, text)) return Exit::internal;
  if (!options.out.empty())
    fmt::print(stderr, "{} findings in {}\n", findings.size(), options.out.string());
  return Exit::ok;
}

}  // namespace lockstep
