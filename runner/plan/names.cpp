#include "plan/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "cases/case.h"

namespace lockstep {
namespace {

/// Those of torch on which a program can run, and the name that most call their own device by.
const std::vector<std::string> kTorchDevices = {
    "cpu", "cuda", "xpu", "mps", "hpu", "mtia", "maia", "vulkan",
    "xla", "ipu",  "ve",  "npu", "hip", "lazy", "meta", "privateuseone"};

void check_name(Reader& reader, const std::vector<std::string>& known, std::string_view what,
                std::string_view more, const std::string& pointer, std::string_view name,
                bool key) {
  if (known.empty() || contains(known, name)) return;
  // What is near may still be another thing of the same kind.
  const std::string near = nearest(name, known);
  std::string hint = near.empty() ? fmt::format("known are {}; {}", enumerate(known), more)
                                  : fmt::format("did you mean `{}`? If not, {}", near, more);
  reader.error(pointer, fmt::format("found `{}`, expected {} or a glob", one_line(name, 60), what),
               std::move(hint), key);
}

/// Visits the strings of a list, and in the place of "$key" every string that the matrix has for
/// it.
template <typename Visit>
void each_name(const Reader& reader, const Node& root, const std::optional<Node>& list,
               Visit&& visit) {
  reader.each_text(list, [&](const Node& item, const std::string& text) {
    if (!text.starts_with('$')) return visit(item.pointer, text);
    const auto matrix = reader.child(root, "matrix");
    if (!matrix) return;
    reader.each_text(
        reader.child(*matrix, text.substr(1)),
        [&](const Node& value, const std::string& name) { visit(value.pointer, name); });
  });
}

/// Whether a glob means an overload that a registry has.
bool means_any(const std::string& glob, const Registry& registry) {
  return std::any_of(
      registry.operators().begin(), registry.operators().end(), [&](const auto& entry) {
        return std::any_of(entry.second.overloads.begin(), entry.second.overloads.end(),
                           [&](const Overload& overload) {
                             return operator_matches(glob, entry.first + "." + overload.name);
                           });
      });
}

}  // namespace

ValidNames valid_names(const std::vector<Path>& paths, const Registry* registry) {
  ValidNames names{{}, kTorchDevices};
  for (const std::string& kind : registry ? registry->devices() : std::vector<std::string>()) {
    if (!contains(names.devices, kind)) names.devices.push_back(kind);
  }
  for (const Path& path : paths) {
    names.paths.push_back(path.name);
    for (const std::string& device : path.devices) {
      const std::string kind = device.substr(0, device.find(':'));
      if (!kind.starts_with('!') && !has_wildcard(kind) && !contains(names.devices, kind))
        names.devices.push_back(kind);
    }
  }
  return names;
}

void check_path(Reader& reader, const ValidNames& names, const std::string& pointer,
                std::string_view glob, bool key) {
  if (glob.starts_with('!')) glob.remove_prefix(1);
  if (has_wildcard(glob)) return;
  check_name(reader, names.paths, "the name of a path", "--path-file FILE adds a path of your own",
             pointer, glob, key);
}

void check_device(Reader& reader, const ValidNames& names, const std::string& pointer,
                  std::string_view glob) {
  if (glob.starts_with('!')) glob.remove_prefix(1);
  if (has_wildcard(glob)) return;
  check_name(reader, names.devices, "a kind of device",
             "a path file whose `devices` names one makes it known", pointer,
             glob.substr(0, glob.find(':')), false);
}

void check_names(const CaseFile& file, const ValidNames& names, Diagnostics& diagnostics) {
  if (!newer_lockstep(file.file.root).empty()) return;
  Reader reader(file.file, diagnostics);
  const Node root{&file.file.root, ""};
  if (const auto only = reader.child(root, "only")) {
    each_name(reader, root, reader.child(*only, "paths"),
              [&](const std::string& pointer, const std::string& name) {
                check_path(reader, names, pointer, name);
              });
    each_name(reader, root, reader.child(*only, "devices"),
              [&](const std::string& pointer, const std::string& name) {
                check_device(reader, names, pointer, name);
              });
  }
  const auto compare = reader.child(root, "compare");
  if (!compare || !(*compare)->is_object()) return;
  for (const auto& [output, policies] : (*compare)->items()) {
    if (!policies.is_object()) continue;
    const std::string pointer = child_pointer(compare->pointer, output);
    for (const auto& [path, policy] : policies.items())
      check_path(reader, names, child_pointer(pointer, path), path, true);
  }
}

void check_declarations(const Path& path, const ValidNames& names, const Registry* registry,
                        Diagnostics& diagnostics) {
  if (path.file == nullptr) return;
  Reader reader(*path.file, diagnostics);
  const Node root{&path.file->root, ""};
  const auto check_operators = [&](const Node& entry, const char* more) {
    if (registry == nullptr) return;
    reader.each_text(reader.child(entry, "operators"), [&](const Node& item, std::string glob) {
      if (glob.starts_with('!')) glob.erase(0, 1);
      if (glob.starts_with("torch.") || means_any(glob, *registry)) return;
      const std::string near = has_wildcard(glob) ? "" : nearest(glob, registry->names());
      reader.error(item.pointer,
                   fmt::format("found `{}`, expected an operator of torch {} or a glob of some",
                               one_line(glob, 60), registry->torch()),
                   (near.empty() ? "" : fmt::format("did you mean `{}`? ", near)) + more);
    });
  };
  const auto tolerances = reader.child(root, "tolerances");
  for (std::size_t i = 0; i < path.declarations.tolerances.size(); ++i)
    check_operators(reader.element(*tolerances, i), "");
  const auto list = reader.child(root, "unsupported");
  for (std::size_t i = 0; i < path.declarations.unsupported.size(); ++i) {
    const Node entry = reader.element(*list, i);
    reader.each_text(reader.child(entry, "devices"),
                     [&](const Node& item, const std::string& glob) {
                       check_device(reader, names, item.pointer, glob);
                     });
    const std::string& range = path.declarations.unsupported[i].torch;
    if (registry != nullptr && version_matches(registry->torch(), range))
      check_operators(entry, "An entry about other releases says so: \"torch\": \">=2.14\"");
  }
}

}  // namespace lockstep
