#include "plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/text.h"

namespace lockstep {
namespace {

std::vector<std::string> raw_tags(const CaseFile& file) {
  std::vector<std::string> tags;
  const auto found = file.file.root.find("tags");
  if (found == file.file.root.end() || !found->is_array()) return tags;
  for (const Json& tag : *found) {
    if (tag.is_string()) tags.push_back(tag.get<std::string>());
  }
  return tags;
}

bool any_glob(const std::vector<std::string>& globs, std::string_view text) {
  return globs.empty() || std::any_of(globs.begin(), globs.end(), [&](const std::string& glob) {
           return glob_match(glob, text);
         });
}

using Visit = std::function<void(const CaseFile&, const MatrixChoice&, const std::string& device,
                                 const std::string& id)>;

/// Visits every instance that the filter may select, judged by what is known without decoding.
void each_instance(const PlanRequest& request, const Visit& visit) {
  for (const CaseFile& file : *request.suite) {
    const std::vector<std::string> tags = raw_tags(file);
    for (const MatrixChoice& choice : file.choices) {
      for (const std::string& device : request.devices) {
        const std::string id = file.id + choice.suffix + "@" + device;
        if (request.filter.selects({file.id, id, "", device, &tags, nullptr, ""}))
          visit(file, choice, device, id);
      }
    }
  }
}

}  // namespace

Plan make_plan(const PlanRequest& request, Diagnostics& diagnostics) {
  Plan plan;
  plan.paths = request.paths;
  plan.devices = request.devices;
  const bool named_paths = request.filter.mentions("path");
  XXH3_state_t* digest = XXH3_createState();
  XXH3_128bits_reset(digest);
  each_instance(request, [&](const CaseFile& file, const MatrixChoice& choice,
                             const std::string& device, const std::string& id) {
    std::vector<std::string> unknown;
    DecodeContext context = request.context;
    context.device = device;
    const Json root = substitute(file.file.root, choice, device, unknown);
    auto decoded = decode_case(file.file, root, file.id, context, diagnostics);
    if (!decoded || !any_glob(decoded->only_devices, device)) return;
    Instance instance{id, device, std::make_shared<const Case>(std::move(*decoded)), 0};
    const Case& declared = *instance.declared;
    for (std::size_t p = 0; p < plan.paths.size(); ++p) {
      const Path& path = plan.paths[p];
      if (!named_paths && !path.is_default) continue;
      if (!any_glob(path.devices, device) || !any_glob(declared.only_paths, path.name)) continue;
      if (!request.filter.selects({declared.id, id, path.name, device, &declared.tags,
                                   &declared.operators, declared.title}))
        continue;
      plan.items.push_back({plan.instances.size(), p, id + "/" + path.name});
      XXH3_128bits_update(digest, plan.items.back().id.data(), plan.items.back().id.size() + 1);
      ++instance.items;
    }
    if (instance.items > 0) plan.instances.push_back(std::move(instance));
  });
  const XXH128_hash_t hash = XXH3_128bits_digest(digest);
  XXH3_freeState(digest);
  plan.digest = fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  return plan;
}

std::vector<std::string> instance_ids(const PlanRequest& request) {
  std::vector<std::string> ids;
  each_instance(request, [&](const CaseFile&, const MatrixChoice&, const std::string&,
                             const std::string& id) { ids.push_back(id); });
  return ids;
}

std::string nearest_id(const PlanRequest& request, const std::string& wanted) {
  std::vector<std::string> ids;
  for (const CaseFile& file : *request.suite) ids.push_back(file.id);
  const std::string case_part = wanted.substr(0, wanted.find_first_of("[@"));
  if (std::string near = nearest(case_part, ids); !near.empty()) return near;
  for (const std::string& id : ids) {  // a number of a report, or a part of a name
    if (id.find(case_part) != std::string::npos) return id;
  }
  return "";
}

}  // namespace lockstep
