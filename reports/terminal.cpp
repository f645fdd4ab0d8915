#include "reports/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

namespace lockstep {

ColorChoice color_choice(std::string_view word) {
  return word == "always"  ? ColorChoice::always
         : word == "never" ? ColorChoice::never
                           : ColorChoice::automatic;
}

Terminal real_terminal() {
  Terminal terminal;
  terminal.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  terminal.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  terminal.environment = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  winsize size{};
  if (terminal.err_is_terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0) {
    terminal.columns = size.ws_col;
  }
  return terminal;
}

bool use_color(const Terminal& terminal, bool stream_is_terminal, ColorChoice choice) {
  if (choice != ColorChoice::automatic) return choice == ColorChoice::always;
  if (!terminal.environment("NO_COLOR").empty()) return false;
  for (const char* name : {"CLICOLOR_FORCE", "FORCE_COLOR"}) {
    const std::string force = terminal.environment(name);
    if (!force.empty() && force != "0") return true;
  }
  return stream_is_terminal && terminal.environment("TERM") != "dumb";
}

bool use_live_line(const Terminal& terminal) {
  return terminal.err_is_terminal && terminal.environment("TERM") != "dumb" &&
         terminal.environment("CI").empty();
}

}  // namespace lockstep
