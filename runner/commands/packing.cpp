#include "commands/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "commands/errors.h"
#include "engine/kept.h"
#include "record/machine.h"
#include "reports/closing.h"
#include "run/task.h"

namespace lockstep {
namespace fs = std::filesystem;
namespace {

tl::unexpected<Exit> failed(const Error& error, Exit exit) {
  print_error(error);
  return tl::unexpected(exit);
}

bool is_file(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error);
}

/// Why a verdict cannot be repeated from what was kept; empty: it can.
std::string lacking(const fs::path& kept, const Instance& instance, const Site& site,
                    const PlanItem& item, const RunRecord& record) {
  if (is_file(kept_folder(kept, item.id, 0) / "package.pt2") &&
      is_file(kept_folder(kept, eager_job(instance, site), 0) / "observation.json"))
    return "";
  const auto verdict = std::find_if(record.verdicts.begin(), record.verdicts.end(),
                                    [&](const Verdict& each) { return each.id == item.id; });
  if (verdict == record.verdicts.end()) return "it was not executed";
  return fmt::format("{}: {}", info(verdict->status).name, one_line(verdict->reason));
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
    if (cases.contains(file.id)) files[fs::path("cases") / (file.id + ".json")] = file.file.text;
  }
  for (const Path& path : session.suite().paths) {
    // A file may declare several paths.
    const std::string name = path.file->root.value("name", path.name);
    files[fs::path("runner") / "paths" / (name + ".json")] = path.file->text;
  }
  if (settings.expectations) {
    std::vector<fs::path> known = files_below(settings.root / "expected" / "known", ".json");
    known.insert(known.end(), settings.known_files.begin(), settings.known_files.end());
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

}  // namespace

tl::expected<void, Exit> begin_packing(Options& options) {
  if (auto begun = begin_pack(options.pack); !begun) return failed(begun.error(), Exit::usage);
  options.pack = fs::absolute(options.pack);
  options.alone = true;
  return {};
}

std::vector<std::string> packaging_paths(const std::vector<Path>& paths) {
  std::vector<std::string> names;
  for (const Path& path : paths) {
    if (path.packages && path.base.empty()) names.push_back(path.name);
  }
  return names;
}

tl::expected<void, Exit> check_packable(const Plan& plan) {
  for (const PlanItem& item : plan.items) {
    const Path& path = plan.paths[item.path];
    if (path.packages) continue;
    return failed({fmt::format("found the path {}, expected one that makes packages", path.name),
                   "its file says \"export\": \"aot_inductor\" (runner/paths/README.md)"},
                  Exit::usage);
  }
  return {};
}

tl::expected<void, Exit> end_packing(const Options& options, const Session& session,
                                     const Plan& plan, const RunRecord& record) {
  const fs::path kept = options.pack / kKeptJobs;
  PackInfo pack;
  pack.lockstep = LOCKSTEP_VERSION;
  pack.made = utc_now();
  pack.environment = session.environment();
  pack.arguments = options.arguments;
  std::set<std::string> cases, paths, jobs;
  for (const PlanItem& item : plan.items) {
    const Instance& instance = plan.instances[item.instance];
    const Site site = reference_site(plan.paths[item.path], instance);
    if (std::string reason = lacking(kept, instance, site, item, record); !reason.empty()) {
      pack.left_out.push_back({item.id, std::move(reason)});
      continue;
    }
    pack.items.push_back(item.id);
    cases.insert(instance.declared->id);
    paths.insert(plan.paths[item.path].name);
    jobs.insert(item.id);
    jobs.merge(jobs_of(instance, site));
  }
  if (pack.items.empty())
    return failed({"nothing of what is selected can be repeated without Python: there is no pack",
                   "the reports say what became of it"},
                  Exit::failures);
  pack.paths = {paths.begin(), paths.end()};
  std::set<fs::path> wanted;
  for (const std::string& job : jobs) wanted.insert(kept_folder(kept, job, 0).parent_path());
  std::error_code error;
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(kept, error)) {
    if (!wanted.contains(entry.path())) others.push_back(entry.path());
  }
  for (const fs::path& folder : others) fs::remove_all(folder, error);
  auto written = write_suite(options.pack, session, cases).and_then([&] {
    return end_pack(options.pack, pack);
  });
  if (!written) return failed(written.error(), Exit::internal);
  if (options.quiet) return {};
  fmt::print(stderr, "packed {} into {}", counted(pack.items.size(), "verdict"),
             options.pack.string());
  if (!pack.left_out.empty())
    fmt::print(stderr, "; left out {}, which {} says why", pack.left_out.size(), kManifest);
  fmt::print(stderr, "\n`{} replay {}` judges them again, without Python\n", options.launcher,
             shell_quote(options.pack.string()));
  return {};
}

tl::expected<PackInfo, Exit> open_pack(Options& options) {
  options.pack = fs::absolute(options.pack).lexically_normal();
  const auto inside = [&](const fs::path& path) {
    const std::string below =
        fs::absolute(path).lexically_normal().lexically_relative(options.pack).generic_string();
    return !below.empty() && !below.starts_with("..");
  };
  if (inside(options.out.empty() ? options.cache : options.out))
    return failed({"the run would be written into the pack",
                   "--out DIR or LOCKSTEP_CACHE choose another place"},
                  Exit::usage);
  auto pack = read_pack(options.pack);
  if (!pack) {
    for (const Error& error : pack.error()) print_error(error);
    return tl::unexpected(Exit::usage);
  }
  options.home = options.suite = options.pack;
  if (std::getenv("LOCKSTEP_COMMAND") == nullptr) {
    std::error_code error;
    options.launcher = shell_quote(fs::read_symlink("/proc/self/exe", error).string());
  }
  if (options.paths.empty()) options.paths = pack->paths;
  if (options.select.empty() && options.level.empty()) options.level = "all";
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
