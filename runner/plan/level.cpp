#include "plan/level.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "cases/content.h"
#include "plan/filter.h"
#include "plan/plan.h"

namespace lockstep {
namespace {

constexpr int kMostRepetitions = 10000;

/// "bugs/1[dim=0]@cpu/inductor", taken apart; what is not said is empty.
struct IdParts {
  std::string instance, device, path;
};

IdParts take_apart(const std::string& id) {
  const std::size_t at = id.find('@');
  if (at == std::string::npos) return {id, "", ""};
  const std::size_t slash = id.find('/', at);
  const std::string device = id.substr(at + 1, slash == std::string::npos ? slash : slash - at - 1);
  return {id.substr(0, at), device, slash == std::string::npos ? "" : id.substr(slash + 1)};
}

/// Whether a glob of cases or instances, what it says of devices and paths cut off, names one of
/// the file.
bool names_one(const std::string& glob, const CaseFile& file, const ValidNames& names) {
  if (glob_match(glob, file.id)) return true;
  if (is_sweep(file)) return glob_match(glob.substr(0, glob.find('[')), file.id);
  return std::any_of(file.choices.begin(), file.choices.end(), [&](const MatrixChoice& choice) {
    const std::string id = file.id + choice.suffix;
    // Without an `@` the end of the glob may mean a device: "bugs/*cpu".
    return glob_match(glob, id) ||
           (has_wildcard(glob) &&
            std::any_of(names.devices.begin(), names.devices.end(), [&](const std::string& device) {
              return glob_match(glob, id + "@" + device);
            }));
  });
}

}  // namespace

Filter Level::filter() const {
  std::vector<Error> none;  // decode_level says what is wrong with a term
  Filter filter = Filter::parse(terms, {}, none);
  if (instances.empty()) return filter;
  std::set<std::string> ids;
  for (const auto& [id, digest] : instances) ids.insert(id);
  return filter.only(std::move(ids));
}

Level decode_level(const JsonFile& file, Diagnostics& diagnostics) {
  Level level;
  Reader reader(file, diagnostics);
  const Node root{&file.root, ""};
  if (!reader.object(root, {"$schema", "format", "name", "title", "threads", "repeat", "select",
                            "fills", "instances"}))
    return level;
  reader.format(root);
  for (const char* key : {"name", "title"}) {
    if (const auto text = reader.child(root, key)) reader.text(*text);
  }
  if (const auto frozen = reader.child(root, "instances")) {
    if (!(*frozen)->is_object() || (*frozen)->empty()) {
      reader.mismatch(*frozen, "an object of ids with their digests, as `list --as-level` writes");
      return level;
    }
    level.threads = 1;
    for (const auto& [id, digest] : (*frozen)->items()) {
      const std::string pointer = child_pointer(frozen->pointer, id);
      if (id.find_first_of("@*?") != std::string::npos)
        reader.error(pointer, "found an id with a device or a wildcard, expected an instance", "",
                     true);
      if (const auto text = reader.text({&digest, pointer}, "a digest"))
        level.instances[id] = *text;
    }
  }
  if (const auto threads = reader.child(root, "threads")) {
    level.threads = static_cast<int>(
        reader.integer(*threads, 1, kMostThreads, "a number of threads, 1 to 64").value_or(1));
  }
  if (const auto repeat = reader.child(root, "repeat")) {
    level.repeat = static_cast<int>(
        reader.integer(*repeat, 2, kMostRepetitions, "a number of executions, 2 to 10,000")
            .value_or(1));
  }
  if (const auto fills = reader.child(root, "fills")) {
    if (!(*fills)->is_object())
      reader.mismatch(*fills, "an object of fill rules with their digests");
    for (const auto& [name, digest] : (*fills)->items()) {
      const std::string pointer = child_pointer(fills->pointer, name);
      if (const auto text = reader.text({&digest, pointer}, "a digest")) level.fills[name] = *text;
    }
  }
  const auto select = reader.child(root, "select");
  if (!select) {
    if (level.instances.empty()) reader.required(root, "select", "filter terms");
    return level;
  }
  if (!reader.list(*select, "a list of filter terms")) return level;
  if ((*select)->empty()) reader.mismatch(*select, "at least one filter term");
  for (std::size_t i = 0; i < (*select)->size(); ++i) {
    const Node element = reader.element(*select, i);
    const auto term = reader.text(element, "a filter term, such as \"bugs/*\"");
    if (!term) continue;
    if (auto parsed = Filter::parse({*term}); !parsed)
      reader.error(element.pointer, parsed.error().message, parsed.error().hint);
    level.terms.push_back(*term);
  }
  return level;
}

void complete(std::vector<CaseFile>& suite, const Level& level) {
  for (CaseFile& file : suite) {
    if (!is_sweep(file)) continue;
    std::set<std::string> suffixes;
    const std::string begin = file.id + "[";
    for (auto it = level.instances.lower_bound(begin);
         it != level.instances.end() && it->first.starts_with(begin); ++it)
      suffixes.insert(it->first.substr(file.id.size()));
    if (!suffixes.empty()) add_choices(file, suffixes);
  }
}

void check_frozen(const JsonFile& file, const Level& level, const std::vector<CaseFile>& suite,
                  const Registry* registry, Diagnostics& diagnostics) {
  Reader reader(file, diagnostics);
  const std::map<std::string, std::string> fills = fill_digests();
  for (const auto& [name, digest] : level.fills) {
    const auto here = fills.find(name);
    if (here != fills.end() && here->second == digest) continue;
    reader.error(
        child_pointer("/fills", name),
        fmt::format("found the digest {} of what the fill rule `{}` makes, which is {} here",
                    one_line(digest, 40), one_line(name, 40),
                    here == fills.end() ? "none" : here->second),
        "what a frozen level has does not change: another rule gets another name");
  }
  std::map<std::string, std::pair<const CaseFile*, const MatrixChoice*>> known;
  for (const CaseFile& each : suite) {
    for (const MatrixChoice& choice : each.choices)
      known[each.id + choice.suffix] = {&each, &choice};
  }
  for (const auto& [id, digest] : level.instances) {
    const std::string pointer = child_pointer("/instances", id);
    const auto found = known.find(id);
    if (found == known.end()) {
      reader.error(pointer, fmt::format("found `{}`, which the suite has not", one_line(id, 200)),
                   "a frozen level is run with the suite that it was frozen of", true);
      continue;
    }
    const auto& [each, choice] = found->second;
    const std::string here = content_digest(*each, *choice, registry);
    if (here.empty() || here == digest) continue;
    reader.error(
        pointer,
        fmt::format("found the digest {} of `{}`, which is {} in this suite", one_line(digest, 40),
                    one_line(id, 200), here),
        "what a frozen level has does not change: a case that is mended gets another name");
  }
}

std::string frozen_level(const std::vector<std::string>& ids, const std::string& title,
                         const Level& like, const std::vector<std::string>& terms,
                         const std::vector<CaseFile>& suite, const Registry* registry) {
  std::set<std::string> wanted;
  for (const std::string& id : ids) wanted.insert(id.substr(0, id.find('@')));
  Json level = {{"format", 1}, {"title", title}};
  if (!terms.empty()) level["select"] = terms;
  level["threads"] = like.threads;
  if (like.repeat > 1) level["repeat"] = like.repeat;
  level["fills"] = fill_digests();
  level["instances"] = Json::object();
  for (const CaseFile& file : suite) {
    for (const MatrixChoice& choice : file.choices) {
      const std::string id = file.id + choice.suffix;
      if (wanted.contains(id)) level["instances"][id] = content_digest(file, choice, registry);
    }
  }
  return level.dump(1) + "\n";
}

void check_level(const JsonFile& file, const std::vector<CaseFile>& suite, const ValidNames& names,
                 Diagnostics& diagnostics) {
  Reader reader(file, diagnostics);
  PlanRequest request;
  request.suite = &suite;
  reader.each_text(
      reader.child({&file.root, ""}, "select"), [&](const Node& element, std::string term) {
        if (term.starts_with('!')) term.erase(0, 1);
        const auto filter = Filter::parse({term});
        if (!filter) return;  // decode_level says why
        const auto unknown = [&](std::string_view what, const std::string& word,
                                 const std::string& near) {
          reader.error(element.pointer, fmt::format("found `{}`, which is {}", word, what),
                       near.empty() || near == word ? "" : fmt::format("did you mean `{}`?", near));
        };
        for (const std::string& id : filter->ids()) {
          const IdParts parts = take_apart(id);
          if (std::none_of(suite.begin(), suite.end(), [&](const CaseFile& each) {
                return names_one(parts.instance, each, names);
              }))
            unknown("no case and no instance of one", id, nearest_id(request, id));
          if (!parts.device.empty()) check_device(reader, names, element.pointer, parts.device);
          if (!parts.path.empty()) check_path(reader, names, element.pointer, parts.path);
        }
        for (const std::string& tag : filter->patterns("tag")) {
          if (std::none_of(suite.begin(), suite.end(), [&](const CaseFile& each) {
                const std::vector<std::string> tags = raw_tags(each);
                return std::any_of(tags.begin(), tags.end(),
                                   [&](const std::string& name) { return glob_match(tag, name); });
              }))
            unknown("a tag of no case", tag, nearest_word(request, "tag", tag));
        }
        for (const std::string& path : filter->patterns("path"))
          check_path(reader, names, element.pointer, path);
        for (const std::string& device : filter->patterns("device"))
          check_device(reader, names, element.pointer, device);
      });
}

}  // namespace lockstep
