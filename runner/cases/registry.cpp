#include "cases/registry.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bounded_json.h"
#include "base/files.h"
#include "base/text.h"

namespace lockstep {
namespace {

ValueKind result_kind(const std::string& type) {
  if (type == "Tensor" || type == "Tensor?") return ValueKind::tensor;
  if (type == "Tensor[]") return ValueKind::tensor_list;
  if (type == "int" || type == "float" || type == "bool" || type == "Scalar" || type == "SymInt")
    return ValueKind::scalar;
  return ValueKind::unknown;
}

Overload overload_from(const Json& json) {
  Overload overload;
  overload.name = json.at("overload").get<std::string>();
  if (overload.name.empty()) overload.name = "default";
  for (const Json& argument : json.at("arguments")) {
    overload.arguments.push_back(
        {argument.at("name"), argument.at("type"), argument.value("kwarg_only", false),
         argument.value("has_default", false), argument.value("mutates", false),
         argument.value("list_size", 0)});
  }
  overload.required_tensors = static_cast<std::size_t>(
      std::count_if(overload.arguments.begin(), overload.arguments.end(),
                    [](const Argument& each) { return !each.has_default && each.is_tensor(); }));
  for (const Json& result : json.at("returns"))
    overload.results.push_back(result_kind(result.at("type")));
  if (json.contains("tags")) json.at("tags").get_to(overload.tags);
  overload.on_cpu = json.value("cpu", true);
  return overload;
}

}  // namespace

Result<Registry> Registry::read(const std::filesystem::path& file) {
  auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  constexpr JsonBounds kOfADump = {64 << 20, 16, 4 << 20};
  const auto json = parse_bounded_json(*text, kOfADump);
  if (!json) {
    return fail(fmt::format("{} is not JSON: {}", file.string(), json.error().message),
                "remove it: the next set-up writes it anew");
  }
  return from_json(*json);
}

Result<Registry> Registry::from_json(const Json& json) {
  Registry registry;
  try {
    json.at("torch").get_to(registry.torch_);
    json.at("operators_digest").get_to(registry.operators_digest_);
    registry.devices_ = json.value("devices", std::vector<std::string>());
    for (const auto& [name, overloads] : json.at("operators").items()) {
      Operator op{name, {}};
      for (const Json& overload : overloads) op.overloads.push_back(overload_from(overload));
      std::stable_partition(op.overloads.begin(), op.overloads.end(),
                            [](const Overload& overload) { return overload.name == "default"; });
      registry.names_.push_back(name.starts_with("aten::") ? name.substr(6) : name);
      registry.operators_.emplace(name, std::move(op));
    }
  } catch (const Json::exception& error) {
    return fail(
        fmt::format("the dump of operator schemas is not what `lockstep-eager schemas` writes: {}",
                    error.what()));
  }
  return registry;
}

const Operator* Registry::find(std::string_view name) const {
  const std::string full =
      name.find("::") == std::string_view::npos ? "aten::" + std::string(name) : std::string(name);
  const auto found = operators_.find(full);
  return found == operators_.end() ? nullptr : &found->second;
}

const Overload* Registry::find_overload(std::string_view name) const {
  const std::size_t dot = name.rfind('.');
  const Operator* op = find(name.substr(0, dot));
  if (op == nullptr) return nullptr;
  const std::string_view wanted = dot == std::string_view::npos ? "default" : name.substr(dot + 1);
  for (const Overload& overload : op->overloads) {
    if (overload.name == wanted) return &overload;
  }
  return nullptr;
}

bool Overload::has_tag(std::string_view tag) const { return contains(tags, tag); }

bool Overload::mutates() const {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Argument& argument) { return argument.mutates; });
}

bool operator_matches(std::string_view glob, std::string_view name) {
  if (glob_match(glob, name)) return true;
  std::string_view rest = name;
  if (const std::size_t space = rest.find("::"); space != std::string_view::npos) {
    rest.remove_prefix(space + 2);
    const std::string_view base = rest.substr(0, rest.find('.'));
    return glob_match(glob, rest) || glob_match(glob, base) ||
           glob_match(glob, name.substr(0, space + 2 + base.size()));
  }
  return glob_match(glob, rest.substr(rest.rfind('.') + 1));
}

std::string refusal(const Operator& op, const Overload& overload) {
  for (const Argument& argument : overload.arguments) {
    for (const std::string_view type :
         {"Storage", "Stream", "Dimname", "__torch__", "Any", "Future", "RRef"}) {
      if (argument.type.find(type) != std::string::npos) {
        return fmt::format("its argument `{}` is a {}, which a case cannot hold", argument.name,
                           argument.type);
      }
    }
    const bool text = argument.type.starts_with("str");
    for (const std::string_view name : {"file", "path", "dir", "library"}) {
      if (text && argument.name.find(name) != std::string::npos) {
        return fmt::format("its argument `{}` names a file", argument.name);
      }
    }
  }
  if (op.name.find("from_file") != std::string::npos || op.name == "aten::_print")
    return "it reaches outside the program";
  return "";
}

}  // namespace lockstep
