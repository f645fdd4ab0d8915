"""What ends the process, or never ends."""

import ctypes
import os
import signal
import sys
import threading
import time

import torch

from .registry import call, compiler

_CALLS = 0


def _die_of(number):
    """A signal to oneself, which may take a moment."""
    os.kill(os.getpid(), number)
    time.sleep(60)


@call("crash")
def segfault(run, inputs):
    """A kernel reads address 8."""
    return ctypes.string_at(8)


@call("crash")
def abort(run, inputs):
    """An assertion of a runtime in C."""
    os.abort()


@call("crash")
def exit_with_zero(run, inputs):
    """The process ends as if all were well."""
    os._exit(0)


@call("crash")
def exit_with_three(run, inputs):
    """The process ends."""
    os._exit(3)


@call("crash")
def system_exit(run, inputs):
    """sys.exit in a runtime."""
    sys.exit(0)


@call("crash")
def keyboard_interrupt(run, inputs):
    """A signal is taken for the user's."""
    raise KeyboardInterrupt


@call("crash")
def illegal_instruction(run, inputs):
    """Code for another CPU."""
    _die_of(signal.SIGILL)


@call("crash")
def killed(run, inputs):
    """By whoever guards the memory."""
    _die_of(signal.SIGKILL)


@call("crash")
def division_by_zero_traps(run, inputs):
    """SIGFPE, where eager raises or computes."""
    _die_of(signal.SIGFPE)


@call("crash")
def crash_after_the_first_call(run, inputs):
    """Memory is freed twice."""
    global _CALLS
    _CALLS += 1
    return run(*inputs) if _CALLS == 1 else ctypes.string_at(8)


@call("crash")
def stack_overflow(run, inputs):
    """Recursion without end in a pass over the graph."""

    def deeper(n):
        return deeper(n + 1) + 1

    return deeper(0)


@compiler("crash")
def compiler_crashes(graph, examples, compile):
    """While it compiles."""
    return ctypes.string_at(8)


@call("crash", hangs=True)
def endless_loop(run, inputs):
    """A loop whose end is never met."""
    while True:
        pass


@call("crash", hangs=True)
def deadlock(run, inputs):
    """A lock is taken twice."""
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@call("crash", hangs=True)
def stopped(run, inputs):
    """The process is stopped and goes on when somebody tells it to."""
    os.kill(os.getpid(), signal.SIGSTOP)
    return run(*inputs)


@compiler("crash", hangs=True)
def compiler_hangs(graph, examples, compile):
    """A fixed point that is never reached."""
    time.sleep(3600)


@call("crash", hangs=True)
def memory_hog(run, inputs):
    """A workspace of terabytes."""
    torch.empty(1 << 43, dtype=torch.uint8)
    return run(*inputs)


@call("crash", hangs=True)
def memory_leak(run, inputs):
    """Gigabytes are asked for until there are no more."""
    kept = []
    while True:
        kept.append(torch.empty(1 << 31, dtype=torch.uint8))
