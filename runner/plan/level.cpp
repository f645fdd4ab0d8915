#include "plan/level.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "plan/filter.h"
#include "plan/plan.h"

namespace lockstep {
namespace {

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
bool names_one(const std::string& glob, const CaseFile& file, const KnownNames& names) {
  if (glob_match(glob, file.id)) return true;
  if (is_sweep(file)) return glob_match(glob.substr(0, glob.find('[')), file.id);
  return std::any_of(file.choices.begin(), file.choices.end(), [&](const MatrixChoice& choice) {
    const std::string id = file.id + choice.suffix;
    // Without an `@` the end of the glob may mean a device: "bugs/*cpu".
    return glob_match(glob, id) ||
           (glob.find_first_of("*?") != std::string::npos &&
            std::any_of(names.devices.begin(), names.devices.end(), [&](const std::string& device) {
              return glob_match(glob, id + "@" + device);
            }));
  });
}

bool has_tag(const CaseFile& file, const std::string& glob) {
  const auto tags = file.file.root.find("tags");
  return tags != file.file.root.end() && tags->is_array() &&
         std::any_of(tags->begin(), tags->end(), [&](const Json& tag) {
           return tag.is_string() && glob_match(glob, tag.get_ref<const std::string&>());
         });
}

}  // namespace

std::vector<std::string> decode_level(const JsonFile& file, Diagnostics& diagnostics) {
  std::vector<std::string> terms;
  Reader reader(file, diagnostics);
  const Node root{&file.root, ""};
  if (!reader.object(root, {"$schema", "format", "name", "title", "select"})) return terms;
  reader.format(root);
  for (const char* key : {"name", "title"}) {
    if (const auto text = reader.child(root, key)) reader.text(*text);
  }
  const auto select = reader.required(root, "select", "filter terms");
  if (!select || !reader.list(*select, "a list of filter terms")) return terms;
  if ((*select)->empty()) reader.mismatch(*select, "at least one filter term");
  for (std::size_t i = 0; i < (*select)->size(); ++i) {
    const Node element = reader.element(*select, i);
    const auto term = reader.text(element, "a filter term, such as \"bugs/*\"");
    if (!term) continue;
    if (auto parsed = Filter::parse({*term}); !parsed)
      reader.error(element.pointer, parsed.error().message, parsed.error().hint);
    terms.push_back(*term);
  }
  return terms;
}

void check_level(const JsonFile& file, const std::vector<CaseFile>& suite, const KnownNames& names,
                 Diagnostics& diagnostics) {
  Reader reader(file, diagnostics);
  const auto select = reader.child({&file.root, ""}, "select");
  for (std::size_t i = 0; select && (*select)->is_array() && i < (*select)->size(); ++i) {
    const Node element = reader.element(*select, i);
    if (!element->is_string()) continue;
    auto term = element->get<std::string>();
    if (term.starts_with('!')) term.erase(0, 1);
    const auto filter = Filter::parse({term});
    if (!filter) continue;  // decode_level says why
    PlanRequest request;
    request.suite = &suite;
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
      if (std::none_of(suite.begin(), suite.end(),
                       [&](const CaseFile& each) { return has_tag(each, tag); }))
        unknown("a tag of no case", tag, nearest_word(request, "tag", tag));
    }
    for (const std::string& path : filter->patterns("path"))
      check_path(reader, names, element.pointer, path);
    for (const std::string& device : filter->patterns("device"))
      check_device(reader, names, element.pointer, device);
  }
}

}  // namespace lockstep
