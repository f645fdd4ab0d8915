#include "reports/rendered.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/text.h"
#include "reports/story.h"
#include "reports/text.h"
#include "reports/tolerated.h"
#include "verdict/fingerprint.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// What a reader should know of a verdict that passes.
std::string note_of(const Verdict& verdict, std::size_t limit) {
  if (verdict.account.standing == Standing::fixed && verdict.account.expectation) {
    return fmt::format("fixed: {}\nremove {}", expectation_line(verdict),
                       verdict.account.expectation->file);
  }
  const Tolerated let_pass = tolerated(verdict);
  std::string passed = let_pass.output == nullptr ? "" : "differs: " + describe(let_pass);
  if (verdict.found.reason.empty() && stability_remark(verdict).empty() && !verdict.found.vacuous &&
      verdict.found.weak.empty() && execution_remark(verdict).empty())
    return passed;
  return story_text(verdict, {.error_limit = limit / 8, .output_limit = 0}) +
         (passed.empty() ? "" : "\n" + passed);
}

}  // namespace

std::string fitted(std::size_t limit,
                   const std::function<std::string(const Fullness&, std::size_t)>& write) {
  const std::vector<Fullness> steps = {
      {}, {4096, 2048, true}, {1024, 512, true}, {256, 256, true}, {0, 256, false}, {0, 80, false}};
  for (const Fullness& fullness : steps) {
    std::string report = write(fullness, std::numeric_limits<std::size_t>::max());
    if (report.size() <= limit) return report;
  }
  // Less what stands around the verdicts.
  return write(steps.back(), limit - std::min<std::size_t>(limit / 4, 1'000'000));
}

Rendered render(const Verdict& verdict, bool strict) {
  const StatusInfo& status = info(verdict.found.status);
  if (verdict.account.standing == Standing::known || verdict.account.standing == Standing::waived) {
    if (status.junit == JunitElement::pass) return {JunitElement::pass, {}, {}};
    return {
        JunitElement::skipped, std::string(name_of(verdict.account.standing)),
        fmt::format("{}: {}", name_of(verdict.account.standing),
                    verdict.account.expectation ? expectation_line(verdict) : headline(verdict))};
  }
  if (verdict.account.standing == Standing::fixed && verdict.fails(strict) && !status.fails) {
    return {JunitElement::failure, "fixed", "fixed: " + expectation_line(verdict)};
  }
  const bool hidden = status.junit == JunitElement::pass || status.junit == JunitElement::skipped;
  const JunitElement element =
      verdict.fails(strict) && hidden ? JunitElement::failure : status.junit;
  if (element == JunitElement::pass) return {element, {}, {}};
  return {element, std::string(status.name),
          fmt::format("{}: {}", status.label, headline(verdict))};
}

std::vector<std::pair<std::string_view, std::string>> facts_of(const Verdict& verdict) {
  std::vector<std::pair<std::string_view, std::string>> facts = {
      {"id", verdict.facts.id},
      {"status", std::string(info(verdict.found.status).name)},
      {"standing", std::string(name_of(verdict.account.standing))}};
  if (verdict.found.grade) facts.emplace_back("grade", name_of(*verdict.found.grade));
  facts.emplace_back("path", verdict.facts.path);
  facts.emplace_back("device", verdict.facts.device);
  facts.emplace_back("file",
                     fmt::format("{}:{}", verdict.facts.case_file, verdict.facts.case_line));
  if (!verdict.origin.reused.empty()) facts.emplace_back("reused", verdict.origin.reused);
  if (!verdict.found.executions.empty())
    facts.emplace_back("executions", stability_remark(verdict));
  for (const std::string& dtype : verdict.facts.dtypes) facts.emplace_back("dtype", dtype);
  for (const std::string& op : verdict.facts.operators) facts.emplace_back("operator", op);
  for (const Fingerprint& fingerprint : fingerprints_of(verdict))
    facts.emplace_back("fingerprint", fingerprint.name);
  for (auto& [name, value] : facts) value = one_line(clean(value), 500);
  return facts;
}

std::string rendered_text(const Verdict& verdict, const Rendered& rendered,
                          const Fullness& fullness) {
  const bool passes = rendered.element == JunitElement::pass;
  if (passes && !fullness.facts_of_all) return {};
  std::string text = clean(passes ? note_of(verdict, fullness.text) : story_text(verdict));
  if (text.size() <= fullness.text) return text;
  const std::string pointer = "report.html has all of it";
  return fullness.text == 0 ? pointer : cut(text, fullness.text) + "\n" + pointer;
}

std::vector<std::string> attachments_of(const RunRecord& record, const Verdict& verdict) {
  std::vector<std::string> files;
  for (const auto& output : verdict.found.outputs) {
    for (const std::string& tensor : output.tensors) {
      // A log in the directory at hand has none in its name.
      const fs::path folder = fs::absolute(record.directory / ".").lexically_normal();
      const fs::path file = (folder / tensor).lexically_normal();
      // Whoever shows the report takes these files along.
      const fs::path inside = file.lexically_relative(folder);
      if (!inside.generic_string().starts_with("tensors/")) continue;
      const std::string below = file.lexically_relative(record.info.directory).generic_string();
      files.push_back(record.info.directory.empty() || below.empty() || below.starts_with("..")
                          ? file.generic_string()
                          : below);
    }
  }
  return files;
}

std::string moment_of(const RunInfo& info) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00Z";
  if (info.started.size() != kForm.size()) return {};
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = info.started[i] >= '0' && info.started[i] <= '9';
    if (kForm[i] == '0' ? !digit : info.started[i] != kForm[i]) return {};
  }
  return info.started;
}

std::vector<std::string> place_of(const Verdict& verdict) {
  std::vector<std::string> place = {"lockstep", verdict.facts.path};
  std::string name = verdict.facts.instance.substr(0, verdict.facts.instance.find_first_of("[@"));
  for (std::size_t slash; (slash = name.find('/')) != std::string::npos; name.erase(0, slash + 1))
    place.push_back(name.substr(0, slash));
  place.push_back(name);
  return place;
}

}  // namespace lockstep
