#include "requests/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "engine/saved.h"
#include "plan/case_facts.h"
#include "record/machine.h"
#include "requests/decode.h"
#include "run/task.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

bool is_file(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error);
}

/// Why a verdict cannot be repeated from what was saved; empty: it can.
std::string lacking(const fs::path& saved, const Instance& instance, const Site& site,
                    const PlanItem& item, const RunRecord& record) {
  if (is_file(saved_folder(saved, item.id, 0) / "package.pt2") &&
      is_file(saved_folder(saved, eager_job(instance, site), 0) / "observation.json"))
    return "";
  const auto verdict = std::find_if(record.verdicts.begin(), record.verdicts.end(),
                                    [&](const Verdict& each) { return each.facts.id == item.id; });
  if (verdict == record.verdicts.end()) return "it was not executed";
  return fmt::format("{}: {}", info(verdict->found.status).name, one_line(verdict->found.reason));
}

/// The jobs that a verdict of an instance rests on besides its own, whichever of them there are.
std::set<std::string> jobs_of(const Instance& instance, const Site& site) {
  std::set<std::string> jobs = {eager_job(instance, site), prepare_job(instance)};
  for (const GoldInfo& gold : all_golds()) jobs.insert(gold_job(instance, site, gold.name));
  return jobs;
}

Result<void> write_suite(const fs::path& folder, const Session& session,
                         const std::set<std::string>& cases) {
  const SessionSettings& settings = session.settings();
  std::map<fs::path, std::string> files;
  for (const CaseFile& file : session.suite().cases) {
    if (!cases.contains(file.id)) continue;
    const fs::path name = fs::path("cases") / (file.id + ".json");
    files[name] = file.file.text;
    auto written = values_of(file).and_then(
        [&](const auto& values) { return write_values((folder / name).parent_path(), values); });
    if (!written) return written;
  }
  for (const Path& path : session.suite().paths) {
    // A file may declare several paths.
    const std::string name = path.file->root.value("name", path.name);
    files[fs::path("runner") / "paths" / (name + ".json")] = path.file->text;
  }
  if (settings.files.expectations) {
    std::vector<fs::path> known = files_below(settings.root / "expected" / "known", ".json");
    known.insert(known.end(), settings.files.known_files.begin(), settings.files.known_files.end());
    for (std::size_t i = 0; i < known.size(); ++i) {
      auto text = read_file(known[i]);
      if (!text) return tl::unexpected(text.error());
      files[fs::path("expected") / "known" /
            fmt::format("{}-{}", i, known[i].filename().string())] = std::move(*text);
    }
  }
  if (const auto text = read_file(settings.schemas)) files["schemas.json"] = *text;
  for (const auto& [name, text] : files) {
    std::error_code error;
    fs::create_directories((folder / name).parent_path(), error);
    if (auto written = write_file(folder / name, text); !written) return written;
  }
  return {};
}

/// The part of a plan that saved packages can repeat, and why they cannot repeat the rest.
struct Repeatable {
  std::set<std::string> cases, paths, jobs;
};

Repeatable repeatable(const fs::path& saved, const Plan& plan, const RunRecord& record,
                      PackInfo& pack) {
  Repeatable result;
  for (const PlanItem& item : plan.items) {
    const Instance& instance = plan.instances[item.instance];
    const Site site = reference_site(plan.paths[item.path], instance);
    if (std::string reason = lacking(saved, instance, site, item, record); !reason.empty()) {
      pack.left_out.push_back({item.id, std::move(reason)});
      continue;
    }
    pack.items.push_back(item.id);
    result.cases.insert(instance.declared->id);
    result.paths.insert(plan.paths[item.path].name);
    result.jobs.insert(item.id);
    result.jobs.merge(jobs_of(instance, site));
  }
  return result;
}

/// Removes what other jobs than these left.
void remove_others(const fs::path& saved, const std::set<std::string>& jobs) {
  std::set<fs::path> wanted;
  for (const std::string& job : jobs) wanted.insert(saved_folder(saved, job, 0).parent_path());
  std::error_code error;
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(saved, error)) {
    if (!wanted.contains(entry.path())) others.push_back(entry.path());
  }
  for (const fs::path& folder : others) fs::remove_all(folder, error);
}

}  // namespace

std::vector<std::string> packaging_paths(const std::vector<Path>& paths) {
  std::vector<std::string> names;
  for (const Path& path : paths) {
    if (path.packages && path.base.empty()) names.push_back(path.name);
  }
  return names;
}

Answer<void> check_packable(const Plan& plan) {
  for (const PlanItem& item : plan.items) {
    const Path& path = plan.paths[item.path];
    if (path.packages) continue;
    return refuse(Exit::usage,
                  {fmt::format("found the path {}, expected one that makes packages", path.name),
                   "its file says \"export\": \"aot_inductor\" (docs/vendor/path-files.md)"});
  }
  return {};
}

Answer<PackInfo> end_packing(const fs::path& folder, const std::vector<std::string>& arguments,
                             const Session& session, const Plan& plan, const RunRecord& record) {
  const fs::path saved = folder / kSavedJobs;
  PackInfo pack;
  pack.lockstep = LOCKSTEP_VERSION;
  pack.made = utc_now();
  pack.environment = session.environment();
  pack.arguments = arguments;
  const Repeatable found = repeatable(saved, plan, record, pack);
  if (pack.items.empty())
    return refuse(Exit::failures,
                  {"nothing of the selection can run without Python, so there is no pack",
                   "the reports say why"});
  pack.paths = {found.paths.begin(), found.paths.end()};
  remove_others(saved, found.jobs);
  auto written =
      write_suite(folder, session, found.cases).and_then([&] { return end_pack(folder, pack); });
  if (!written) return refuse(Exit::internal, written.error());
  return pack;
}

Answer<PackInfo> open_pack(ReplayRequest& request) {
  request.folder = fs::absolute(request.folder).lexically_normal();
  Basis& basis = request.run.basis;
  const fs::path& out = request.run.out;
  const std::string below = fs::absolute(out.empty() ? basis.at.cache : out)
                                .lexically_normal()
                                .lexically_relative(request.folder)
                                .generic_string();
  if (!below.empty() && !below.starts_with(".."))
    return refuse(Exit::usage, {"the run would be written into the pack",
                                "--out DIR or LOCKSTEP_CACHE choose another place"});
  auto pack = read_pack(request.folder);
  if (!pack) return tl::unexpected(Failure{Exit::usage, pack.error(), {}});
  basis.at.home = basis.at.suite = request.folder;
  if (std::getenv("LOCKSTEP_COMMAND") == nullptr) {
    std::error_code error;
    basis.at.launcher = shell_quote(fs::read_symlink("/proc/self/exe", error).string());
  }
  Choice& choice = basis.choice;
  if (choice.paths.empty()) choice.paths = pack->paths;
  const bool selects =
      !choice.select.empty() || !choice.after_paths.empty() || !choice.after_devices.empty();
  if (!selects && choice.level.empty()) choice.level = "all";
  return std::move(*pack);
}

void keep_packed(Plan& plan, const PackInfo& pack) {
  const std::set<std::string> ids(pack.items.begin(), pack.items.end());
  keep_items(plan, [&](const PlanItem& item) { return ids.contains(item.id); });
}

std::string difference_of(const PackInfo& pack, const Json& environment) {
  std::string text;
  for (const char* key : {"torch", "cpu_capability"}) {
    const std::string then = pack.environment.value(key, ""), now = environment.value(key, "");
    if (then == now) continue;
    text += fmt::format("{}{} {}, here {}", text.empty() ? "the pack was made with " : "; ", key,
                        one_line(then, 60), one_line(now, 60));
  }
  return text;
}

}  // namespace lockstep
