#include "paths/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/reader.h"
#include "paths/cpu_level.h"

namespace lockstep {
namespace {

constexpr int kSiteThreads = 256;
constexpr const char* kWidth = "torch._inductor.config.cpp.simdlen";

bool valid_variant_name(std::string_view name) {
  return !name.empty() && name.size() <= 20 &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
}

/// One variant; nothing if it is wrong.
std::optional<Site> decode_site(Reader& reader, const Node& variant) {
  const int failures = reader.failures();
  if (!reader.object(variant, {"cpu_level", "threads"})) return std::nullopt;
  Site site;
  if (const auto level = reader.child(variant, "cpu_level")) {
    site.cpu_level = reader.text(*level, "a CPU level, such as `avx2`").value_or("");
    if ((*level)->is_string() && !is_cpu_level(site.cpu_level))
      reader.mismatch(*level, "a CPU level as torch names it, in small letters: `default`, `avx2`");
  }
  if (const auto threads = reader.child(variant, "threads"))
    site.threads = static_cast<int>(
        reader.integer(*threads, 1, kSiteThreads, fmt::format("1 to {} threads", kSiteThreads))
            .value_or(1));
  if (reader.failures() == failures && site == Site())
    reader.mismatch(variant, "a `cpu_level`, a number of `threads`, or both");
  return reader.failures() == failures ? std::optional(site) : std::nullopt;
}

/// The path as it is at a site.
Path variant_of(const Path& path, const std::string& name, const Site& site) {
  Path variant = path;
  variant.name = path.name + "." + name;
  variant.base = path.name;
  variant.title = fmt::format("{}, {}", path.title, describe(site, ""));
  variant.is_default = false;
  variant.site = site;
  // Levels and threads are the CPU's.
  variant.devices = {"cpu"};
  // A compiler is held against eager as it is there; eager itself against eager as it is elsewhere.
  if (path.worker != "eager") {
    variant.reference.cpu_level = site.cpu_level;
    variant.reference.threads = site.threads;
    variant.above = path.name;
  }
  Json& declared = variant.declared;
  if (!site.cpu_level.empty()) {
    variant.environment = environment_of_cpu_level(site.cpu_level);
    for (const auto& [key, value] : path.environment) {  // who sets one knows why
      std::erase_if(variant.environment,
                    [&key = key](const auto& each) { return each.first == key; });
      variant.environment.emplace_back(key, value);
    }
    declared["environment"] = Json::object();
    for (const auto& [key, value] : variant.environment) declared["environment"][key] = value;
    const auto bits = vector_bits_of_cpu_level(site.cpu_level);
    const bool is_inductor = path.compiles && declared.value("backend", Json()) == "inductor";
    if (bits && is_inductor && !declared["config"].contains(kWidth))
      declared["config"][kWidth] = *bits;
    declared["cpu_level"] = site.cpu_level;
  }
  if (site.threads > 0) declared["threads"] = site.threads;
  declared["name"] = variant.name;
  declared["title"] = variant.title;
  declared["default"] = false;
  declared["devices"] = variant.devices;
  declared["above"] = variant.above.empty() ? Json() : Json(variant.above);
  declared.erase("variants");
  return variant;
}

}  // namespace

std::vector<Path> decode_variants(const Path& path, Diagnostics& diagnostics) {
  Reader reader(*path.file, diagnostics);
  const auto variants = reader.child({&path.file->root, ""}, "variants");
  std::vector<Path> decoded;
  if (!variants) return decoded;
  if (!(*variants)->is_object()) {
    reader.mismatch(*variants, "an object of variants by name");
    return decoded;
  }
  for (const auto& [name, value] : (*variants)->items()) {
    const Node variant{&value, child_pointer(variants->pointer, name)};
    if (!valid_variant_name(name))
      reader.error(variant.pointer,
                   fmt::format("found `{}`, expected a name of lower-case letters, digits, `_` and "
                               "`-`, at most 20 of them",
                               name.substr(0, 60)),
                   "", true);
    if (auto site = decode_site(reader, variant)) decoded.push_back(variant_of(path, name, *site));
  }
  if (reader.failed()) decoded.clear();
  return decoded;
}

}  // namespace lockstep
