#include "plan/case_facts.h"

#include <algorithm>

#include "base/launcher.h"
#include "base/text.h"
#include "cases/show.h"

namespace lockstep {

Site reference_site(const Path& path, const Instance& instance) {
  Site site = path.reference;
  if (site.device.empty()) site.device = instance.device;
  return site;
}

std::string program_text(const Instance& instance) {
  constexpr std::size_t kMost = 6 * 1024;
  std::string text = show_case(*instance.declared, instance.id);
  if (text.size() <= kMost) return text;
  const std::size_t end = text.rfind('\n', kMost);
  text.resize(end == std::string::npos ? 0 : end + 1);
  return text + "[...] " + typed("show " + shell_quote(instance.id)) + " prints all of it\n";
}

CaseFacts case_facts(const Plan& plan, std::size_t index, std::string program) {
  const PlanItem& item = plan.items[index];
  const Instance& instance = plan.instances[item.instance];
  const Path& path = plan.paths[item.path];
  const Case& declared = *instance.declared;
  CaseFacts facts;
  facts.id = item.id;
  facts.instance = instance.id;
  facts.path = path.name;
  facts.device = instance.device;
  facts.reference = describe(reference_site(path, instance), instance.device);
  facts.title = declared.title;
  facts.case_file = declared.file;
  facts.own = declared.own;
  facts.index = index;
  facts.threads = path.site.threads > 0 ? path.site.threads : declared.threads;
  facts.links = declared.links;
  facts.unverified = declared.unverified;
  facts.program = std::move(program);
  facts.tags = declared.tags;
  facts.operators = declared.operators;
  facts.dtypes = input_dtypes(declared);
  return facts;
}

std::optional<std::size_t> item_at(const Plan& plan, std::size_t place) {
  const auto item = std::lower_bound(
      plan.items.begin(), plan.items.end(), place,
      [](const PlanItem& each, std::size_t wanted) { return each.place < wanted; });
  if (item == plan.items.end() || item->place != place) return std::nullopt;
  return static_cast<std::size_t>(item - plan.items.begin());
}

std::optional<std::size_t> find_item(const Plan& plan, const CaseFacts& facts) {
  const auto item = item_at(plan, facts.index);
  return item && plan.items[*item].id == facts.id ? item : std::nullopt;
}

}  // namespace lockstep
