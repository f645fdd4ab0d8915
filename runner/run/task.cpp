#include "run/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cases/show.h"

namespace lockstep {
namespace {

/// " (on cpu)": what of a site is not as in other executions of the instance; empty: nothing.
std::string words_of(const Site& site, const Instance& instance) {
  const std::string words = describe(site, instance.device);
  return words.empty() ? "" : fmt::format(" ({})", words);
}

}  // namespace

std::string eager_job(const Instance& instance, const Site& site) {
  return instance.id + "/eager" + words_of(site, instance);
}

std::string gold_job(const Instance& instance, const Site& site, std::string_view mode) {
  return fmt::format("{} ({} gold{})", instance.id, mode, words_of(site, instance));
}

std::string prepare_job(const Instance& instance) { return instance.id + " (prepare)"; }

Site reference_site(const Path& path, const Instance& instance) {
  Site site = path.reference;
  if (site.device.empty()) site.device = instance.device;
  return site;
}

std::optional<std::size_t> find_item(const Plan& plan, const Verdict& verdict) {
  const auto item =
      std::lower_bound(plan.items.begin(), plan.items.end(), verdict.index,
                       [](const PlanItem& each, std::size_t place) { return each.place < place; });
  if (item == plan.items.end() || item->id != verdict.id) return std::nullopt;
  return static_cast<std::size_t>(item - plan.items.begin());
}

void identify(const Plan& plan, std::size_t index, Verdict& verdict) {
  const PlanItem& item = plan.items[index];
  const Instance& instance = plan.instances[item.instance];
  verdict.id = item.id;
  verdict.instance = instance.id;
  verdict.path = plan.paths[item.path].name;
  verdict.device = instance.device;
  verdict.reference = describe(reference_site(plan.paths[item.path], instance), instance.device);
  verdict.index = index;
  verdict.operators = instance.declared->operators;
}

std::string program_text(const Instance& instance) {
  constexpr std::size_t kMost = 6 * 1024;
  std::string text = show_case(*instance.declared, instance.id);
  if (text.size() <= kMost) return text;
  const std::size_t end = text.rfind('\n', kMost);
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text + "[...] `ci/lockstep show " + shell_quote(instance.id) + "` prints all of it\n";
}

void tell_case(const Plan& plan, const std::string& program, Verdict& verdict) {
  const PlanItem& item = plan.items[verdict.index];
  const Case& declared = *plan.instances[item.instance].declared;
  verdict.title = declared.title;
  verdict.case_file = declared.file;
  verdict.links = declared.links;
  verdict.unverified = declared.unverified;
  verdict.program = program;
  verdict.tags = declared.tags;
  const int of_path = plan.paths[item.path].site.threads;
  verdict.threads = of_path > 0 ? of_path : declared.threads;
  verdict.dtypes = input_dtypes(declared);
}

std::optional<Elsewhere> elsewhere(const Site& reference, const Path& path,
                                   const Instance& instance) {
  const Site own{instance.device, path.site.cpu_level, path.site.threads};
  if (reference == own) return std::nullopt;
  return Elsewhere{reference.device, own.device};
}

void find_references(Task& task, const Plan& plan) {
  const Instance& instance = *task.instance;
  for (PendingVerdict& pending : task.items) {
    if (pending.emitted) continue;
    const Site site = reference_site(plan.paths[plan.items[pending.item].path], instance);
    const auto known =
        std::find_if(task.references.begin(), task.references.end(),
                     [&](const Reference& reference) { return reference.site == site; });
    pending.reference = static_cast<std::size_t>(known - task.references.begin());
    if (known != task.references.end()) continue;
    task.references.push_back(
        {site,
         site.device == instance.device ? instance.declared : instance.elsewhere.at(site.device),
         nullptr,
         {}});
  }
}

std::vector<StorageFile> storage_files(const InputSet& inputs) {
  std::vector<StorageFile> files;
  for (const Json& storage : inputs.storages)
    files.push_back({storage["file"].get<std::string>(), storage["bytes"].get<std::uint64_t>()});
  return files;
}

}  // namespace lockstep
