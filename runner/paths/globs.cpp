#include "paths/globs.h"

#include "base/text.h"

namespace lockstep {

bool device_matches(std::string_view glob, std::string_view device) {
  const bool kind = glob.find(':') == std::string_view::npos;
  return glob_match(glob, kind ? device.substr(0, device.find(':')) : device);
}

bool devices_take(std::span<const std::string> globs, std::string_view device) {
  return globs_take(globs, [&](std::string_view glob) { return device_matches(glob, device); });
}

bool path_matches(std::string_view glob, std::string_view path) {
  const std::size_t dot = path.rfind('.');
  return glob_match(glob, path) ||
         (dot != std::string_view::npos && glob_match(glob, path.substr(0, dot)));
}

bool paths_take(std::span<const std::string> globs, std::string_view path) {
  return globs_take(globs, [&](std::string_view glob) { return path_matches(glob, path); });
}

}  // namespace lockstep
