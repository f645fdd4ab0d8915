#include "plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <span>

#include "base/digest.h"
#include "base/parallel.h"
#include "base/splitmix.h"
#include "base/text.h"
#include "cases/relations.h"
#include "paths/globs.h"
#include "plan/names.h"
#include "plan/share.h"

namespace lockstep {
namespace {

using Visit = std::function<void(const CaseFile&, const MatrixChoice&, const std::string& device,
                                 const std::string& id)>;

/// Visits every instance of these files that the filter may select, as far as is known without
/// decoding.
void each_instance(const PlanRequest& request, std::span<const CaseFile> files,
                   const Visit& visit) {
  for (const CaseFile& file : files) {
    const std::vector<std::string> tags = raw_tags(file);
    for (const std::string& device : request.devices) {
      for (const MatrixChoice& choice : file.choices) {
        const std::string id = file.id + choice.suffix + "@" + device;
        if (request.filter.selects({file.id, id, "", device, &tags, nullptr, nullptr, nullptr}))
          visit(file, choice, device, id);
      }
    }
  }
}

void each_instance(const PlanRequest& request, const Visit& visit) {
  each_instance(request, *request.suite, visit);
}

/// Whether a filter is about verdicts, not only about instances.
bool of_verdicts(const Filter& filter) {
  return filter.mentions("path") || filter.mentions(FilterSource::log);
}

/// What selecting asks of a decoded case.
struct Traits {
  std::vector<std::string> tags, operators, dtypes, only_paths, only_devices;
};

Traits traits_of(const Case& declared) {
  return {declared.tags, declared.operators, input_dtypes(declared), declared.only_paths,
          declared.only_devices};
}

std::optional<Case> decode(const PlanRequest& request, const CaseFile& file,
                           const MatrixChoice& choice, const std::string& device,
                           Diagnostics& diagnostics) {
  std::vector<std::string> unknown;
  DecodeContext context = request.context;
  context.device = device;
  auto decoded = decode_case(file.file, substitute(file.file.root, choice, device, unknown),
                             file.id, context, diagnostics);
  if (!decoded) return decoded;
  decoded->own = file.own;
  if (request.relations && decoded->relations.empty()) {
    decoded->relations = usual_relations(*decoded);
    decoded->share = decoded->share && decoded->relations.empty();
  }
  return decoded;
}

/// Whether a filter takes an instance, as far as is known without a path.
bool takes_instance(const Filter& filter, const std::string& case_id, const Traits& traits,
                    const std::string& device, const std::string& id) {
  return filter.selects(
      {case_id, id, "", device, &traits.tags, &traits.operators, &traits.dtypes, nullptr});
}

/// Visits the paths, as indices into PlanRequest::paths, on which an instance is selected.
template <typename Take>
void each_path(const PlanRequest& request, const std::string& case_id, const Traits& traits,
               const std::string& device, const std::string& id, Take&& take) {
  const bool named = names_paths(request.filter);
  for (std::size_t p = 0; p < request.paths.size(); ++p) {
    const Path& path = request.paths[p];
    if (!named && !path.is_default) continue;
    if (!devices_take(path.devices, device) || !paths_take(traits.only_paths, path.name)) continue;
    std::string verdict_id = id + "/" + path.name;
    const LogWords* said = nullptr;
    if (request.earlier != nullptr) {
      const auto found = request.earlier->find(verdict_id);
      if (found != request.earlier->end()) said = &found->second;
    }
    if (request.filter.selects({case_id, id, path.name, device, &traits.tags, &traits.operators,
                                &traits.dtypes, said}))
      take(p, std::move(verdict_id));
  }
}

/// A value of a matrix as far as it can decide a trait: which number it is decides none.
void add_kind(std::string& kinds, const Json& value) {
  if (value.is_number()) {
    kinds += value.is_number_float() ? "f" : "i";
  } else if (value.is_structured()) {
    kinds += value.is_array() ? "[" : "{";
    for (const auto& [key, element] : value.items()) {
      if (value.is_object()) kinds += Json(key).dump();
      add_kind(kinds, element);
    }
    kinds += "]";
  } else {
    kinds += value.dump();
  }
  kinds += ",";
}

/// The same text for choices of a file that have the same traits.
std::string kinds_of(const MatrixChoice& choice, const std::string& device) {
  std::string kinds = fmt::format("{} {} {} ", device, choice.op, choice.call);
  for (const auto& [name, value] : choice.values) add_kind(kinds, value);
  return kinds;
}

/// What `make` makes of the parts of a suite, each of which a thread takes; in their order.
template <class Made, class Make>
std::vector<Made> by_parts(std::span<const CaseFile> suite, const Make& make) {
  constexpr std::size_t kFiles = 16;
  std::vector<Made> made((suite.size() + kFiles - 1) / kFiles);
  in_parallel(made.size(), 2, [&](std::size_t i) {
    made[i] = make(suite.subspan(i * kFiles, std::min(kFiles, suite.size() - i * kFiles)));
  });
  return made;
}

/// What follows from the order of the items.
void number_items(Plan& plan) {
  std::vector<std::string_view> ids;
  for (PlanItem& item : plan.items) {
    item.place = ids.size();
    ids.push_back(item.id);
  }
  plan.digest = digest_of(ids);
}

}  // namespace

std::string digest_of(const std::vector<std::string_view>& ids) {
  Digest digest;
  for (const std::string_view id : ids) {
    digest.add(id);
    digest.add(std::string_view("\0", 1));
  }
  return digest.hex();
}

bool names_paths(const Filter& filter) {
  return filter.mentions("path") || filter.asks_for(FilterSource::log);
}

namespace {

/// The instances and items of these files of the suite.
struct Part {
  std::vector<Instance> instances;
  std::vector<PlanItem> items;  ///< their instances are places in this part
  Diagnostics wrong;
};

Part part_of(std::span<const CaseFile> files, const PlanRequest& request) {
  Part part;
  const Registry* registry = request.context.registry;
  const std::string torch = registry == nullptr ? "" : registry->torch();
  each_instance(
      request, files,
      [&](const CaseFile& file, const MatrixChoice& choice, const std::string& device,
          const std::string& id) {
        auto decoded = decode(request, file, choice, device, part.wrong);
        if (!decoded || !devices_take(decoded->only_devices, device)) return;
        const Traits traits = traits_of(*decoded);
        Instance instance{id, device, std::make_shared<const Case>(std::move(*decoded)), 0, 0};
        std::optional<Needs> needs;
        const auto decode_on = [&](const std::string& other) {
          if (other.empty() || other == device) return;
          const auto [found, is_new] = instance.on_devices.try_emplace(other);
          if (!is_new) return;
          auto there = decode(request, file, choice, other, part.wrong);
          if (there && devices_take(there->only_devices, other))
            found->second = std::make_shared<const Case>(std::move(*there));
        };
        each_path(request, file.id, traits, device, id,
                  [&](std::size_t path, std::string verdict_id) {
                    PlanItem& item = part.items.emplace_back(
                        PlanItem{part.instances.size(), path, std::move(verdict_id)});
                    ++instance.items;
                    decode_on(request.paths[path].reference.device);
                    const Declarations& says = request.paths[path].declarations;
                    if (says.unsupported.empty() && says.tolerances.empty()) return;
                    if (!needs) needs = needs_of(*instance.declared, device, registry);
                    item.declared = declared_of(request.paths[path], *needs, torch);
                    if (request.ignore_declared) item.declared.unsupported.clear();
                  });
        const bool taken =
            instance.items > 0 || (request.pathless && !of_verdicts(request.filter) &&
                                   takes_instance(request.filter, file.id, traits, device, id));
        if (taken) part.instances.push_back(std::move(instance));
      });
  return part;
}

}  // namespace

Plan make_plan(const PlanRequest& request, Diagnostics& diagnostics) {
  Plan plan;
  plan.paths = request.paths;
  plan.devices = request.devices;
  for (const Path& path : plan.paths)
    check_declarations(path, {}, request.context.registry, diagnostics);
  for (Part& part : by_parts<Part>(*request.suite, [&](std::span<const CaseFile> files) {
         return part_of(files, request);
       })) {
    for (PlanItem& item : part.items) item.instance += plan.instances.size();
    std::move(part.instances.begin(), part.instances.end(), std::back_inserter(plan.instances));
    std::move(part.items.begin(), part.items.end(), std::back_inserter(plan.items));
    std::move(part.wrong.begin(), part.wrong.end(), std::back_inserter(diagnostics));
  }
  if (!request.alone) gather(plan);
  share(plan, request.alone);
  number_items(plan);
  return plan;
}

void keep_items(Plan& plan, const std::function<bool(const PlanItem&)>& wanted) {
  std::erase_if(plan.items, [&](const PlanItem& item) { return !wanted(item); });
  std::vector<std::size_t> counts(plan.instances.size(), 0), places(plan.instances.size());
  for (const PlanItem& item : plan.items) ++counts[item.instance];
  std::vector<Instance> instances;
  for (std::size_t i = 0; i < plan.instances.size(); ++i) {
    places[i] = instances.size();
    if (counts[i] == 0) continue;
    instances.push_back(std::move(plan.instances[i]));
    instances.back().items = counts[i];
  }
  for (PlanItem& item : plan.items) item.instance = places[item.instance];
  plan.instances = std::move(instances);
  number_items(plan);
}

void reorder(Plan& plan, const std::vector<std::size_t>& order) {
  std::vector<std::vector<PlanItem>> items(plan.instances.size());
  for (PlanItem& item : plan.items) items[item.instance].push_back(std::move(item));
  std::vector<Instance> instances;
  plan.items.clear();
  for (const std::size_t from : order) {
    for (PlanItem& item : items[from]) {
      item.instance = instances.size();
      plan.items.push_back(std::move(item));
    }
    instances.push_back(std::move(plan.instances[from]));
  }
  plan.instances = std::move(instances);
}

void shuffle(Plan& plan, std::uint64_t seed) {
  std::vector<std::vector<std::size_t>> graphs;
  for (std::size_t i = 0; i < plan.instances.size(); ++i) {
    if (i == 0 || plan.instances[i].shared_graph != plan.instances[i - 1].shared_graph)
      graphs.emplace_back();
    graphs.back().push_back(i);
  }
  for (std::size_t i = graphs.size(); i > 1; --i)
    std::swap(graphs[i - 1], graphs[splitmix64(seed) % i]);
  std::vector<std::size_t> order;
  for (std::size_t graph = 0; graph < graphs.size(); ++graph) {
    for (const std::size_t i : graphs[graph]) {
      plan.instances[i].shared_graph = graph;
      order.push_back(i);
    }
  }
  reorder(plan, order);
  number_items(plan);
}

std::vector<std::string> input_dtypes(const Case& declared) {
  std::vector<std::string> names;
  for (const CallSpec& call : declared.calls) {
    for (const InputSpec& input : call.inputs) {
      const auto* tensor = std::get_if<TensorSpec>(&input.value);
      if (tensor == nullptr || tensor->dtype == nullptr) continue;
      std::string name(tensor->dtype->name);
      if (!contains(names, name)) names.push_back(std::move(name));
    }
  }
  return names;
}

std::vector<std::string> instance_ids(const PlanRequest& request) {
  std::vector<std::string> ids;
  each_instance(request, [&](const CaseFile&, const MatrixChoice&, const std::string&,
                             const std::string& id) { ids.push_back(id); });
  return ids;
}

namespace {

/// What is selected of these files of the suite.  `ids_alone`: nobody reads what a case declares,
/// which is then decoded only where the answer depends on it.
std::vector<Selected> selected_of(std::span<const CaseFile> files, const PlanRequest& request,
                                  bool ids_alone, Diagnostics& diagnostics) {
  const Filter& filter = request.filter;
  const bool of_paths = of_verdicts(filter);
  std::vector<Selected> result;
  std::map<std::string, std::optional<Traits>> known;  // of one file; nothing: cannot be decoded
  std::vector<std::string> tags;                       // of that file
  const CaseFile* known_file = nullptr;
  each_instance(
      request, files,
      [&](const CaseFile& file, const MatrixChoice& choice, const std::string& device,
          const std::string& id) {
        if (known_file != &file) {
          known.clear();
          tags = raw_tags(file);
        }
        known_file = &file;
        if (ids_alone && !of_paths && !file.file.root.contains("only") &&
            filter.selects_anyway({file.id, id, "", device, &tags, nullptr, nullptr, nullptr})) {
          result.push_back({id, &file, {}, {}});
          return;
        }
        const auto [found, is_new] = known.try_emplace(kinds_of(choice, device));
        if (is_new) {
          if (const auto decoded = decode(request, file, choice, device, diagnostics))
            found->second = traits_of(*decoded);
        }
        if (!found->second || !devices_take(found->second->only_devices, device)) return;
        const Traits& traits = *found->second;
        const auto add = [&](std::string selected_id) {
          result.push_back({std::move(selected_id), &file, traits.operators, traits.dtypes});
        };
        if (of_paths) {
          each_path(request, file.id, traits, device, id,
                    [&](std::size_t, std::string verdict_id) { add(std::move(verdict_id)); });
        } else if (takes_instance(filter, file.id, traits, device, id)) {
          add(id);
        }
      });
  return result;
}

std::vector<Selected> select(const PlanRequest& request, bool ids_alone, Diagnostics& diagnostics) {
  struct Found {
    std::vector<Selected> selected;
    Diagnostics wrong;
  };
  std::vector<Selected> result;
  for (Found& found : by_parts<Found>(*request.suite, [&](std::span<const CaseFile> files) {
         Found part;
         part.selected = selected_of(files, request, ids_alone, part.wrong);
         return part;
       })) {
    std::move(found.selected.begin(), found.selected.end(), std::back_inserter(result));
    std::move(found.wrong.begin(), found.wrong.end(), std::back_inserter(diagnostics));
  }
  return result;
}

}  // namespace

std::vector<std::string> selected_ids(const PlanRequest& request, Diagnostics& diagnostics) {
  if (!of_verdicts(request.filter) && !request.filter.mentions(FilterSource::decoded))
    return instance_ids(request);
  std::vector<std::string> ids;
  for (Selected& each : select(request, true, diagnostics)) ids.push_back(std::move(each.id));
  return ids;
}

std::vector<Selected> selected(const PlanRequest& request, Diagnostics& diagnostics) {
  return select(request, false, diagnostics);
}

void visit_decoded(const PlanRequest& request,
                   const std::function<bool(const std::vector<std::string>& operators,
                                            const std::vector<std::string>& dtypes)>& enough) {
  for (const CaseFile& file : *request.suite) {
    std::set<std::string> seen;
    for (const std::string& device : request.devices) {
      for (const MatrixChoice& choice : file.choices) {
        if (!seen.insert(kinds_of(choice, device)).second) continue;
        Diagnostics ignored;
        const auto decoded = decode(request, file, choice, device, ignored);
        if (decoded && enough(decoded->operators, input_dtypes(*decoded))) return;
      }
    }
  }
}

std::vector<std::string> missed_cases(const PlanRequest& request) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> lines;
  const CaseFile* last = nullptr;
  each_instance(request, [&](const CaseFile& file, const MatrixChoice& choice,
                             const std::string& device, const std::string& id) {
    if (last == &file || lines.size() == kMost) return;  // the first instance speaks for all
    last = &file;
    Diagnostics ignored;
    const auto decoded = decode(request, file, choice, device, ignored);
    if (!decoded) return;
    const Traits traits = traits_of(*decoded);
    if (!takes_instance(request.filter, file.id, traits, device, id)) return;
    if (!devices_take(traits.only_devices, device)) {
      lines.push_back(
          fmt::format("`{}` runs only on the device {}", file.id, enumerate(traits.only_devices)));
      return;
    }
    if (traits.only_paths.empty()) return;
    std::vector<std::string> names;
    for (const Path& path : request.paths) {
      if (devices_take(path.devices, device) && paths_take(traits.only_paths, path.name))
        names.push_back(path.name);
    }
    lines.push_back(names.empty()
                        ? fmt::format("`{}` runs only on the path {}: --path-file FILE adds it",
                                      file.id, enumerate(traits.only_paths))
                        : fmt::format("`{}` runs only on the path {}: --path {}", file.id,
                                      enumerate(names), fmt::join(names, ",")));
  });
  return lines;
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

std::string nearest_word(const PlanRequest& request, std::string_view kind,
                         const std::string& wanted) {
  std::vector<std::string> words;
  if (kind == "tag") {
    for (const CaseFile& file : *request.suite) {
      for (std::string& tag : raw_tags(file)) words.push_back(std::move(tag));
    }
  } else if (kind == "op") {
    if (request.context.registry != nullptr) words = request.context.registry->names();
  } else if (kind == "path") {
    for (const Path& path : request.paths) words.push_back(path.name);
  } else if (kind == "device") {
    words = request.devices;
  } else if (kind == "dtype") {
    for (const Dtype& dtype : all_dtypes()) words.emplace_back(dtype.name);
  }
  return nearest(wanted, words);
}

}  // namespace lockstep
