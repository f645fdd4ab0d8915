"""The handlers that a process runs when it exits: Python has functions for its own that it does not
document."""

import atexit
import contextlib
import ctypes


def forget() -> None:
    """Lets an exit run what is registered from now on, and none of what is there already: the
    handlers of C run from the last one to the first, and the one that is added here ends it."""
    atexit._clear()
    libc = ctypes.CDLL(None)
    getattr(libc, "__cxa_atexit")(ctypes.cast(libc._exit, ctypes.c_void_p), None, None)


def leave() -> None:
    """Ends this process as Python and C do."""
    with contextlib.suppress(Exception):  # Python, too, prints it and goes on
        atexit._run_exitfuncs()
    ctypes.PyDLL(None).exit(0)  # with the lock of the interpreter, which a destructor may want
