#include "run/task.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/case_facts.h"

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

std::string other_job(std::string id, RelationKind kind) {
  return fmt::format("{} (other {})", id, name_of(kind));
}

std::vector<RelationKind> other_executions(const Case& declared) {
  std::vector<RelationKind> kinds;
  for (const RelationSpec& each : declared.relations) {
    if (each.kind == RelationKind::process || each.kind == RelationKind::threads)
      kinds.push_back(each.kind);
  }
  return kinds;
}

std::string prepare_job(const Instance& instance) { return instance.id + " (prepare)"; }

std::string lower_job(const Instance& instance) { return instance.id + " (lowered)"; }

bool call_functions(const std::vector<Step>& steps) {
  return std::any_of(steps.begin(), steps.end(), [](const Step& step) {
    const auto* block = std::get_if<WithBlock>(&step.does);
    return block == nullptr ? std::holds_alternative<FunctionCall>(step.does)
                            : call_functions(block->steps);
  });
}

std::optional<CrossDevice> cross_device(const Site& reference, const Path& path,
                                        const Instance& instance) {
  const Site own{instance.device, path.site.cpu_level, path.site.threads};
  if (reference == own) return std::nullopt;
  return CrossDevice{reference.device, own.device};
}

bool is_told_held(const Path& path) { return path.torchs_own || !path.command.empty(); }

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
         site.device == instance.device ? instance.declared : instance.on_devices.at(site.device),
         nullptr,
         {},
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
