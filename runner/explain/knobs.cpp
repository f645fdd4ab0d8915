#include "explain/knobs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/reader.h"
#include "base/text.h"
#include "cases/case.h"
#include "program/program.h"

namespace lockstep {
namespace {

bool valid_knob_name(std::string_view name) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_.-=";
  return !name.empty() && name.size() <= 60 &&
         name.find_first_not_of(kLetters) == std::string_view::npos;
}

Knob decode_knob(Reader& reader, const Node& node) {
  Knob knob;
  knob.backends = {"inductor"};
  if (!reader.object(
          node, {"name", "title", "link", "torch", "backends", "config", "dynamic", "fall_back"}))
    return knob;
  if (const auto name = reader.required(node, "name", "as reports call it")) {
    knob.name = reader.text(*name).value_or("");
    if ((*name)->is_string() && !valid_knob_name(knob.name))
      reader.mismatch(*name, "a name of lower-case letters, digits, `_`, `.`, `=` and `-`");
  }
  if (const auto title = reader.required(node, "title", "one line for people"))
    knob.title = reader.text(*title).value_or("");
  if (const auto link = reader.child(node, "link")) knob.link = reader.text(*link).value_or("");
  if (const auto torch = reader.child(node, "torch")) {
    knob.torch = reader.text(*torch).value_or("");
    if ((*torch)->is_string() && !valid_range(knob.torch))
      reader.mismatch(*torch, "a range of releases, such as `>=2.10,<2.14`");
  }
  if (const auto backends = reader.child(node, "backends"))
    knob.backends = reader.texts(*backends, "a list of backends of torch.compile");
  if (const auto config = reader.child(node, "config")) {
    if ((*config)->is_object())
      knob.config = **config;
    else
      reader.mismatch(*config, "an object of values by dotted name");
  }
  if (const auto dynamic = reader.child(node, "dynamic")) knob.dynamic = reader.boolean(*dynamic);
  if (const auto without = reader.child(node, "fall_back"))
    knob.fall_back = reader.boolean(*without).value_or(false);
  if (knob.config.empty() && !knob.dynamic && !knob.fall_back)
    reader.error(node.pointer, "found a setting that changes nothing",
                 "write what it sets into `config`, `dynamic` or `fall_back`");
  return knob;
}

}  // namespace

KnobTable read_knobs(const std::filesystem::path& name, Diagnostics& diagnostics) {
  const auto file = read_json(name, name.string(), diagnostics);
  return file ? decode_knobs(*file, diagnostics) : KnobTable();
}

KnobTable decode_knobs(const JsonFile& file, Diagnostics& diagnostics) {
  KnobTable table;
  Reader reader(file, diagnostics);
  const Node root{&file.root, ""};
  if (!reader.object(root, {"format", "knobs", "bisect"})) return table;
  reader.format(root);
  std::set<std::string> names;
  const auto list = reader.required(root, "knobs", "the settings");
  for (std::size_t i = 0; list && reader.list(*list, "a list of settings") && i < (*list)->size();
       ++i) {
    const Node node = reader.element(*list, i);
    Knob knob = decode_knob(reader, node);
    if (!names.insert(knob.name).second)
      reader.error(node.pointer, fmt::format("found `{}` for the second time", knob.name));
    table.knobs.push_back(std::move(knob));
  }
  const auto bisected = reader.child(root, "bisect");
  if (!bisected) return table;
  if (!(*bisected)->is_object()) {
    reader.mismatch(*bisected, "an object of lists of subsystems by backend");
    return table;
  }
  for (const auto& [backend, subsystems] : (*bisected)->items()) {
    const Node node{&subsystems, child_pointer(bisected->pointer, backend)};
    std::vector<std::string> subsystems_of = reader.texts(node, "a list of subsystems");
    for (const std::string& each : subsystems_of) {
      if (!is_name(each)) reader.mismatch(node, "names of torch's subsystems");
    }
    if (!is_name(backend)) reader.mismatch(node, "a backend that torch's bisector knows");
    table.bisected.push_back({backend, std::move(subsystems_of)});
  }
  return table;
}

std::string why_not(const Knob& knob, const Path& path, const std::string& torch,
                    const std::vector<std::string>& operators) {
  const Json backend = path.declared.value("backend", Json());
  if (!backend.is_string() || !contains(knob.backends, backend.get<std::string>()))
    return fmt::format("it is one of {} alone", enumerate(knob.backends));
  if (!knob.torch.empty() && !version_matches(torch, knob.torch))
    return fmt::format("it needs torch {}, this is {}", knob.torch, torch);
  if (knob.fall_back && operators.empty()) return "no operator is accused";
  Json config = path.declared.value("config", Json::object());
  // The worker sets it if the path does not.
  if (!path.own_random) config["torch._inductor.config.fallback_random"] = true;
  const bool set =
      std::all_of(knob.config.items().begin(), knob.config.items().end(), [&](const auto& item) {
        return config.contains(item.key()) && config[item.key()] == item.value();
      });
  if (set && !knob.config.empty()) return "the path has it already";
  if (knob.dynamic && knob.dynamic == path.dynamic) return "the path has it already";
  return "";
}

Path with_knob(const Path& path, const Knob& knob, const std::vector<std::string>& operators) {
  Path changed = path;
  if (!changed.declared.contains("config") || !changed.declared["config"].is_object())
    changed.declared["config"] = Json::object();
  for (const auto& [name, value] : knob.config.items()) changed.declared["config"][name] = value;
  if (knob.dynamic) {
    changed.dynamic = knob.dynamic;
    changed.declared["dynamic"] = *knob.dynamic;
  }
  if (knob.fall_back) changed.declared["fall_back"] = operators;
  if (knob.config.value("torch._inductor.config.fallback_random", Json()) == false)
    changed.own_random = true;
  return changed;
}

}  // namespace lockstep
