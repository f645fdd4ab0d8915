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
           (has_wildcard(glob) &&
            std::any_of(names.devices.begin(), names.devices.end(), [&](const std::string& device) {
              return glob_match(glob, id + "@" + device);
            }));
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
