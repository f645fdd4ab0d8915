"""What a process has started, as the kernel tells it, and whoever looks at it from outside."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_PR_SET_CHILD_SUBREAPER = 36
#: In /proc/PID/stat, after the name: page faults of children that have ended and been waited for.
_CHILDREN_MINOR, _CHILDREN_MAJOR = 8, 10


def adopt_orphans() -> None:
    """Has what descendants of this process leave behind become its children."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@contextlib.contextmanager
def told_of_children() -> Iterator[int]:
    """A descriptor that can be read from whenever a child has ended, or another signal has come."""
    woken, wakes = os.pipe()
    for end in (woken, wakes):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    try:
        yield woken
    finally:
        signal.set_wakeup_fd(-1)
        os.close(woken)
        os.close(wakes)


def drain(woken: int) -> None:
    """Reads what has come of such a descriptor."""
    with contextlib.suppress(BlockingIOError):
        os.read(woken, 4096)


class Started(NamedTuple):
    """What a process has started until now."""

    alive: frozenset[int]  # those that have not ended
    faults: int  # page faults of those that have ended

    @classmethod
    def by(cls, pid: int) -> "Started":
        """What `pid` has started, and what has become a child of this process since."""
        alive = (below(os.getpid()) | below(pid)) - {pid}
        faults = 0
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            faults = int(fields[_CHILDREN_MINOR]) + int(fields[_CHILDREN_MAJOR])
        return cls(frozenset(alive), faults)


def below(pid: int) -> set[int]:
    """The descendants of a process; none where the kernel does not list them."""
    found: set[int] = set()
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in map(int, file.read().split()):
                    found |= {child} | below(child)
    return found


@contextlib.contextmanager
def beside(build: Callable[[], Any], nice: int = 10) -> Iterator[None]:
    """While it lasts, a forked child executes `build`, whatever that raises: a new cache is filled
    by more than one process."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.nice(nice)
            build()
        os._exit(0)
    try:
        yield
    finally:
        os.waitpid(pid, 0)
