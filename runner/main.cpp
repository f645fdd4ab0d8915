#include <fmt/format.h>

#include "commands.h"
#include "options.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  const Options options = parse_options(argc, argv);
  if (options.command.empty()) {
    fmt::print(options.exit == Exit::ok ? stdout : stderr, "{}", options.text);
    return static_cast<int>(options.exit);
  }
  Exit exit = Exit::internal;
  if (options.command == "run") exit = command_run(options);
  if (options.command == "list") exit = command_list(options);
  if (options.command == "show") exit = command_show(options);
  if (options.command == "check") exit = command_check(options);
  if (options.command == "report") exit = command_report(options);
  if (options.command == "doctor") exit = command_doctor(options);
  if (options.command == "repro") exit = command_repro(options);
  return static_cast<int>(exit);
}
