"""Entry point: claims standard output for the protocol before anything else can write to it."""

import os
import sys

from .parent import Parent
from .wire import Wire


def main() -> int:
    """Runs the worker until `stop` or the end of input, or answers one question: a reproducer
    (`repro`), the backends of a path, the operators of modules, what torch tests itself (`opinfo`).
    The exit status of the process."""
    if sys.argv[1:] == ["repro"]:
        from . import repro

        return repro.main()
    if sys.argv[1:] == ["backends"]:
        from . import backends

        return backends.main()
    if sys.argv[1:] == ["operators"]:
        from . import own_operators

        return own_operators.main()
    if sys.argv[1:] == ["opinfo"]:
        from . import opinfo

        return opinfo.main()
    protocol = os.dup(1)
    os.set_inheritable(protocol, False)
    # Whatever torch, a compiler or a vendor's module prints must not reach the protocol.
    os.dup2(2, 1)
    return Parent(0, Wire(protocol)).serve()


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # No exit handlers: nothing is left to do, and libraries complain at length in theirs.
    os._exit(status)
