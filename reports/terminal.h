#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace lockstep {

/// What `--color` says.
enum class ColorChoice { automatic, always, never };

/// `--color` as it is written: auto, always or never.
ColorChoice color_choice(std::string_view word);

/// Where output goes and what the environment asks for; a plain struct so that tests can make one
/// up.
struct Terminal {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::size_t columns = 80;
  /// The value of an environment variable, empty where unset.
  std::function<std::string(const char*)> environment = [](const char*) { return std::string(); };
};

/// This process's standard output, standard error and environment.
Terminal real_terminal();

/// Whether to colour a stream.  In order: `--color`, NO_COLOR, CLICOLOR_FORCE, TERM=dumb, and last
/// whether the stream is a terminal (no-color.org, bixense.com/clicolors).
bool use_color(const Terminal& terminal, bool stream_is_terminal, ColorChoice choice);

/// Whether a line on standard error may be rewritten while the run goes on.
bool use_live_line(const Terminal& terminal);

}  // namespace lockstep
