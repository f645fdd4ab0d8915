"""Processes that a program leaves behind when it ends."""

import contextlib
import ctypes
import os
import pathlib
import signal

#: Of prctl(2): orphans of this process's descendants become its children.
PR_SET_CHILD_SUBREAPER = 36
#: How often processes are looked for that fork while they are ended.
ROUNDS = 100


def adopt() -> None:
    """From now on, whatever descends from this process and loses its parent is this one's child."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end() -> int:
    """Ends every child of this process, and their own; how many there were."""
    ended = 0
    for _ in range(ROUNDS):
        children = _children()
        for child in children:
            with contextlib.suppress(OSError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
        ended += len(children)
        if not children:
            break
    return ended


def _children() -> list[int]:
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError):
            # The name in parentheses may have spaces and parentheses itself.
            state, parent = stat.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid() and state != "Z":
                found.append(int(stat.parent.name))
    return found
