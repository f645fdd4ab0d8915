#pragma once

#include <span>
#include <string>
#include <string_view>

namespace lockstep {

/// Whether a glob means a device ("cpu", "cuda:0"): one without a colon speaks of the kind, and so
/// takes every device of that kind.
bool device_matches(std::string_view glob, std::string_view device);

/// globs_take (base/text.h) for a device.
bool devices_take(std::span<const std::string> globs, std::string_view device);

/// Whether a glob means a path: by its name, or for a variant (`inductor.avx2`) by the name of its
/// path.
bool path_matches(std::string_view glob, std::string_view path);

/// globs_take for a path.
bool paths_take(std::span<const std::string> globs, std::string_view path);

}  // namespace lockstep
