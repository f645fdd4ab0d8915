#pragma once

#include <sys/types.h>

#include <optional>

namespace lockstep {

// A guard is a process between the runner and one worker.  What a process leaves behind at its end
// becomes the child of the nearest ancestor that asks for that (PR_SET_CHILD_SUBREAPER), which the
// guard does: nothing that comes of the worker gets away, whatever its session and its group are.
// The guard outlives the runner, however that ends, by the moments that killing all of it takes.
// A control group for each worker would add one thing, that processes which multiply faster than
// they are killed end at once.  It is not made: its directory may be written by root in a container
// or where systemd delegates it, and anywhere else it is systemd's alone, which a directory that
// can be written does not tell.

/// Makes a process that the runner has forked a guard, before it forks the worker.
void prepare_guard();

/// What a guard does from then on: tells `news` the number of the worker (negative: an errno, there
/// is none) and later its wait status, and ends everything when `lifeline` comes to its end.
[[noreturn]] void watch_over(pid_t worker, int lifeline, int news);

/// One number that a guard tells; waits for it.  Nothing where the guard is gone.
std::optional<int> heard_from(int news);

}  // namespace lockstep
