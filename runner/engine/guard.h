#pragma once

#include <sys/types.h>

#include <optional>

namespace lockstep {

// A guard is a process between the runner and one worker. The children of a process that ends go to
// its nearest ancestor that asks for them (PR_SET_CHILD_SUBREAPER). The guard asks, so no
// descendant of the worker escapes, whatever its session and its group are.
// It is forked and never executes another program, so it allocates nothing: another thread of the
// runner may have held a lock of the allocator at that moment, which then nobody releases.
// The guard outlives the runner, however that ends, by the moments that killing all of it takes.
// A control group for each worker would add one thing, that processes which multiply faster than
// they are killed end at once. It is not made: only root in a container, or a user to whom systemd
// delegates it, may write to its directory. Whether systemd does cannot be told from the directory.

/// Makes a process that the runner has forked a guard, before it forks the worker.
void prepare_guard();

/// What a guard does from then on: tells `news` the number of the worker (negative: an errno, there
/// is none) and later its wait status, and ends everything when `lifeline` comes to its end.
[[noreturn]] void watch_over(pid_t worker, int lifeline, int news);

/// One number that a guard tells; waits for it.  Nothing where the guard is gone.
std::optional<int> heard_from(int news);

}  // namespace lockstep
