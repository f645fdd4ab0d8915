#pragma once

namespace lockstep {

/// Catches SIGINT, SIGTERM and, where it is not ignored, SIGHUP: the first makes `interrupted`
/// true, the second ends the process at once with status 130.  SIGUSR1 makes a run say on standard
/// error what is under way.
void watch_for_interrupts();
bool interrupted();

/// Whether SIGUSR1 came since somebody asked last.
bool take_question();

}  // namespace lockstep
