#include "commands/propose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>

#include "base/files.h"
#include "base/json.h"
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

/// Of what a rule speaks, which orders a file and tells whether it has a rule.  The rest is what
/// people write, or what depends on the day.
Json subject_of(const Json& rule) {
  Json subject = Json::array();
  for (const char* key : {"instances", "paths", "devices", "torch", "status", "grade"})
    subject.push_back(rule.is_object() ? rule.value(key, Json()) : Json());
  return subject;
}

}  // namespace

Result<std::string> proposal(const RunRecord& record, const std::string& existing, bool crashes,
                             std::size_t& proposed) {
  proposed = 0;
  Json document = {{"format", 1}, {"known", Json::array()}};
  if (!existing.empty()) {
    document = Json::parse(existing, nullptr, false);
    if (!document.is_object() || !document.value("known", Json()).is_array())
      return fail("the file of proposals is no file of expectations");
  }
  Json& known = document["known"];
  std::string torch;
  for (const auto& [name, values] : record.environment.items()) {
    if (values.is_object() && values.contains("torch") && values["torch"].is_string())
      torch = values["torch"].get<std::string>();
    if (name == "eager" && !torch.empty()) break;
  }
  // One rule for what diverges alike: same case, path, device and status.  Each instance of a
  // pointwise case is a finding of its own, on all paths where the numbers are the same.
  struct Group {
    std::vector<std::string> instances;
    std::vector<std::string> paths;
    std::vector<std::string> links;
    std::optional<Grade> grade;
  };
  using Key = std::tuple<std::string, std::string, std::string, std::string, std::string>;
  std::map<Key, Group> groups;
  for (const Verdict& verdict : record.verdicts) {
    if (!verdict.fails(false) || verdict.standing != Standing::new_) continue;
    if (verdict.status == Status::harness || (info(verdict.status).crashed() && !crashes)) continue;
    const bool pointwise =
        std::any_of(verdict.outputs.begin(), verdict.outputs.end(),
                    [](const OutputComparison& output) { return !output.first.empty(); });
    const std::string status(info(verdict.status).name);
    Group& group =
        groups[pointwise
                   ? Key{verdict.instance, "", verdict.device, status, finding(verdict)}
                   : Key{case_of(verdict.instance), verdict.path, verdict.device, status, ""}];
    if (group.instances.empty() || group.instances.back() != verdict.instance)
      group.instances.push_back(verdict.instance);
    if (group.paths.empty() || group.paths.back() != verdict.path)
      group.paths.push_back(verdict.path);
    group.links = verdict.links;
    if (verdict.grade && (!group.grade || *verdict.grade > *group.grade))
      group.grade = verdict.grade;
  }
  for (auto& [key, group] : groups) {
    const auto& [subject, path, device, status, found] = key;
    std::sort(group.instances.begin(), group.instances.end());
    Json rule = {{"instances", group.instances}, {"paths", group.paths}, {"devices", {device}}};
    if (const std::string range = minor_range(torch); !range.empty()) rule["torch"] = range;
    rule["status"] = status;
    if (group.grade) rule["grade"] = name_of(*group.grade);
    rule["because"] = "unreported";
    rule["reason"] = "";
    if (!found.empty()) rule["finding"] = found;
    if (!group.links.empty() && group.links.front().starts_with("https://"))
      rule["link"] = group.links.front();
    rule["date"] = record.info.started.substr(0, 10);
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

Result<void> propose(const RunRecord& record, const Options& options) {
  const bool to_stdout = options.update_known == "-";
  std::string existing;
  std::error_code error;
  if (!to_stdout && fs::exists(options.update_known, error)) {
    auto text = read_file(options.update_known);
    if (!text) return tl::unexpected(text.error());
    existing = std::move(*text);
  }
  std::size_t proposed = 0;
  auto text = proposal(record, existing, options.accept_crashes, proposed);
  if (!text) return tl::unexpected(text.error());
  std::size_t kept_back = 0, fixed = 0;
  for (const Verdict& verdict : record.verdicts) {
    const bool is_new = verdict.fails(false) && verdict.standing == Standing::new_;
    if (is_new && info(verdict.status).crashed() && !options.accept_crashes) ++kept_back;
    if (verdict.standing == Standing::fixed) ++fixed;
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
  if (auto written = write_file(options.update_known, *text); !written) return written;
  fmt::print(stderr, "{} proposed in {}: write the reason of each; without one it is refused\n",
             proposed, options.update_known);
  return {};
}

}  // namespace lockstep
