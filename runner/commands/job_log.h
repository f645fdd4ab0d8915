#pragma once

#include <string>

namespace lockstep {

/// As long as it lives, GitHub's runner takes nothing for a command that this process prints:
/// titles, errors and what programs write are text of strangers.  Where GITHUB_ACTIONS is `true`,
/// it stops commands by a token that nobody can guess, and resumes them at its end; elsewhere it
/// does nothing. The token goes to standard error, for standard output may be data.  The runner may
/// read one of them before the other, so text of strangers is disarmed as well (reports/text.h).
class CommandsStopped {
 public:
  CommandsStopped();
  CommandsStopped(const CommandsStopped&) = delete;
  CommandsStopped& operator=(const CommandsStopped&) = delete;
  ~CommandsStopped();
};

/// Prints our own commands on standard error, which are to be taken for such.
void print_commands(const std::string& commands);

}  // namespace lockstep
