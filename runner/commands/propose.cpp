#include "commands/propose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "base/files.h"
#include "base/json.h"
#include "expectations/expectations.h"
#include "record/fingerprints.h"
#include "verdict/finding.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

/// The releases of one minor version: ">=2.13,<2.14".
std::string minor_range(const std::string& torch) {
  int major = 0, minor = 0;
  if (std::sscanf(torch.c_str(), "%d.%d", &major, &minor) != 2) return "";
  return fmt::format(">={}.{},<{}.{}", major, minor, major, minor + 1);
}

std::string case_of(const std::string& instance) {
  return instance.substr(0, instance.find_first_of("[@"));
}

/// What a rule is about. It sorts a file, and finds rules that are there already. People write the
/// rest, or it depends on the day.
Json subject_of(const Json& rule) {
  Json subject = Json::array();
  for (const char* key :
       {"fingerprints", "instances", "paths", "devices", "torch", "status", "grade"})
    subject.push_back(rule.is_object() ? rule.value(key, Json()) : Json());
  return subject;
}

/// The torch that a run was of; empty: nobody says.
std::string torch_of(const RunRecord& record) {
  std::string torch;
  for (const auto& [name, values] : record.environment.items()) {
    if (values.is_object() && values.contains("torch") && values["torch"].is_string())
      torch = values["torch"].get<std::string>();
    if (name == "eager" && !torch.empty()) break;
  }
  return torch;
}

/// The verdicts of one fingerprint, on any instance and path: they get one rule.
struct Group {
  std::set<std::string> cases, paths, devices;
  std::optional<Grade> grade;
  const Verdict* example = nullptr;
  std::string link;
};

std::map<std::string, Group> groups_of(const RunRecord& record, bool crashes) {
  std::map<std::string, Group> groups;
  for (const Verdict& verdict : record.verdicts) {
    if (!verdict.fails(false) || verdict.account.standing != Standing::new_) continue;
    if (verdict.found.status == Status::harness ||
        (info(verdict.found.status).crashed() && !crashes))
      continue;
    for (const Fingerprint& fingerprint : fingerprints_of(verdict)) {
      Group& group = groups[fingerprint.name];
      group.cases.insert(case_of(verdict.facts.instance));
      group.paths.insert(verdict.facts.path);
      group.devices.insert(verdict.facts.device);
      group.grade = std::max(group.grade, fingerprint.grade);  // none is less than any
      if (group.link.empty() && !verdict.facts.links.empty())
        group.link = verdict.facts.links.front();
      if (group.example == nullptr || is_smaller(verdict, *group.example)) group.example = &verdict;
    }
  }
  return groups;
}

Json rule_of(const std::string& fingerprint, const Group& group, const std::string& range,
             const std::string& date) {
  Json rule = {{"fingerprints", {fingerprint}},
               {"instances", group.cases},
               {"paths", group.paths},
               {"devices", group.devices},
               {"torch", range.empty() ? ">=0" : range}};
  if (group.grade) rule["grade"] = name_of(*group.grade);
  rule["because"] = name_of(Because::unreported);
  rule["reason"] = "";
  rule["finding"] = fmt::format("{}: {}", group.example->facts.id, finding(group.example->found));
  if (group.link.starts_with("https://")) rule["link"] = group.link;
  rule["date"] = date;
  return rule;
}

}  // namespace

Result<std::string> proposal(const RunRecord& record, const std::string& existing, bool crashes,
                             std::size_t& proposed) {
  proposed = 0;
  Json document = {{"format", kExpectationsFormat}, {"known", Json::array()}};
  if (!existing.empty()) {
    document = Json::parse(existing, nullptr, false);
    if (!document.is_object() || !document.value("known", Json()).is_array())
      return fail("the file of proposals is no file of expectations");
  }
  Json& known = document["known"];
  const auto groups = groups_of(record, crashes);
  const std::string range = minor_range(torch_of(record));
  for (const auto& [fingerprint, group] : groups) {
    Json rule = rule_of(fingerprint, group, range, record.info.started.substr(0, 10));
    const Json spoken_of = subject_of(rule);
    if (std::any_of(known.begin(), known.end(),
                    [&](const Json& there) { return subject_of(there) == spoken_of; }))
      continue;
    known.push_back(std::move(rule));
    ++proposed;
  }
  if (proposed == 0) return std::string();
  std::stable_sort(known.begin(), known.end(),
                   [](const Json& a, const Json& b) { return subject_of(a) < subject_of(b); });
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> propose(const RunRecord& record, const std::string& file, bool crashes) {
  const bool to_stdout = file == "-";
  std::string existing;
  std::error_code error;
  if (!to_stdout && fs::exists(file, error)) {
    auto text = read_file(file);
    if (!text) return tl::unexpected(text.error());
    existing = std::move(*text);
  }
  std::size_t proposed = 0;
  auto text = proposal(record, existing, crashes, proposed);
  if (!text) return tl::unexpected(text.error());
  std::size_t kept_back = 0, fixed = 0;
  for (const Verdict& verdict : record.verdicts) {
    const bool is_new = verdict.fails(false) && verdict.account.standing == Standing::new_;
    if (is_new && info(verdict.found.status).crashed() && !crashes) ++kept_back;
    if (verdict.account.standing == Standing::fixed) ++fixed;
  }
  if (kept_back > 0)
    fmt::print(stderr, "{} crashes, time-outs or the like: proposed only with --accept-crashes\n",
               kept_back);
  if (fixed > 0)
    fmt::print(stderr, "{} fixed: remove their expectations by hand (see above)\n", fixed);
  if (proposed == 0) {
    fmt::print(stderr, "no expectation to propose\n");
    return {};
  }
  if (to_stdout) {
    std::fwrite(text->data(), 1, text->size(), stdout);
    return {};
  }
  if (auto written = write_file(file, *text); !written) return written;
  fmt::print(stderr, "{} proposed in {}: write the reason of each; without one it is refused\n",
             proposed, file);
  return {};
}

}  // namespace lockstep
