#include "paths/reaching.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace lockstep {
namespace {

/// Which values of a setting leave a path's backend what it is to get.
enum class Harmless { false_, one_or_more, empty, null };

bool is_harmless(Harmless harmless, const Json& value) {
  switch (harmless) {
    case Harmless::false_:
      return value == Json(false);
    // Of any size: whoever wants no limit writes a great one.
    case Harmless::one_or_more:
      return value.is_number_unsigned() && value.get<std::uint64_t>() >= 1;
    case Harmless::empty:
      return value == Json("");
    case Harmless::null:
      return value.is_null();
  }
  return false;
}

std::string_view words_of(Harmless harmless) {
  switch (harmless) {
    case Harmless::false_:
      return "false";
    case Harmless::one_or_more:
      return "an integer, 1 or more";
    case Harmless::empty:
      return "an empty string";
    case Harmless::null:
      return "null";
  }
  return "";
}

/// A setting of torch's front end.  Modules know it by several names (`torch._dynamo.config`,
/// `torch.compiler.config`, and whoever imports one of them), so it goes by its last part.
struct Setting {
  std::string_view name;
  Harmless harmless;
  std::string_view what;  ///< what any other value does
};

constexpr std::array kSettings = std::to_array<Setting>({
    {"disable", Harmless::false_, "with it, no program reaches the backend"},
    {"suppress_errors", Harmless::false_, "with it, what a backend refuses runs eagerly"},
    {"recompile_limit", Harmless::one_or_more, "past it, programs run eagerly"},
    {"cache_size_limit", Harmless::one_or_more, "past it, programs run eagerly"},
    {"accumulated_recompile_limit", Harmless::one_or_more, "past it, programs run eagerly"},
    {"accumulated_cache_size_limit", Harmless::one_or_more, "past it, programs run eagerly"},
    {"debug_backend_override", Harmless::empty, "it puts other backends in the place of this one"},
    {"debug_dynamo_config_override", Harmless::empty, "it sets what is looked for here"},
    {"repro_after", Harmless::null, "it puts a minifier around the backend"},
});

struct Variable {
  std::string_view name;
  bool zero_is_off;  ///< torch takes `0` for no
  std::string_view what;
};

constexpr std::array kVariables = std::to_array<Variable>({
    {"TORCHDYNAMO_DISABLE", true, "with it, no program reaches the backend"},
    {"TORCH_COMPILE_DISABLE", true, "with it, no program reaches the backend"},
    {"TORCHDYNAMO_DEBUG_FUNCTION", false, "with it, programs of other names run eagerly"},
    {"TORCHDYNAMO_SUPPRESS_ERRORS", false, "with it, what a backend refuses runs eagerly"},
    {"TORCH_COMPILE_OVERRIDE_BACKENDS", false, "it puts other backends in the place of this one"},
    {"TORCH_COMPILE_OVERRIDE_DYNAMO_CONFIGS", false, "it sets what is looked for in `config`"},
    {"TORCHDYNAMO_REPRO_AFTER", false, "it puts a minifier around the backend"},
});

/// Whether a dotted name leads into torch, by whatever module.
bool is_of_torch(const std::string& name) {
  return name.starts_with("torch.") || name.find(".torch.") != std::string::npos;
}

constexpr std::string_view kMend =
    "remove it: a path is judged by what its backend executes; what it refuses is declared";

}  // namespace

void check_config_reaches(Reader& reader, const Node& config) {
  for (const auto& [name, value] : config->items()) {
    const Node node{&value, child_pointer(config.pointer, name)};
    if (name == "lockstep_worker" || name.starts_with("lockstep_worker.")) {
      reader.error(node.pointer,
                   fmt::format("found `{}`, expected a setting of torch or of a backend",
                               one_line(name, 80)),
                   "remove it: this is the code that judges", true);
      continue;
    }
    if (!is_of_torch(name)) continue;
    const auto last = std::string_view(name).substr(name.rfind('.') + 1);
    const auto* const setting = std::find_if(
        kSettings.begin(), kSettings.end(), [&](const Setting& each) { return each.name == last; });
    if (setting != kSettings.end() && !is_harmless(setting->harmless, value))
      reader.mismatch(node, fmt::format("{}: {}", words_of(setting->harmless), setting->what),
                      std::string(kMend));
  }
}

void check_variable_reaches(Reader& reader, const Node& variable, const std::string& name,
                            const std::string& value) {
  const auto* const found = std::find_if(kVariables.begin(), kVariables.end(),
                                         [&](const Variable& each) { return each.name == name; });
  if (found == kVariables.end() || value.empty() || (found->zero_is_off && value == "0")) return;
  reader.mismatch(
      variable,
      fmt::format("{}: {}", found->zero_is_off ? "`0` or an empty string" : "an empty string",
                  found->what),
      std::string(kMend));
}

}  // namespace lockstep
