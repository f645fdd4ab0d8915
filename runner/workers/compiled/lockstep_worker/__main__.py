"""Entry point: claims standard output for the protocol before anything else can write to it."""

import importlib
import os
import sys
import warnings

from .parent import Parent
from .wire import Wire

#: The questions, and the modules that answer them.
QUESTIONS = {
    "backends": "backends",
    "operators": "own_operators",
    "opinfo": "opinfo",
    "repro": "repro",
}


def main(words: list[str]) -> int:
    """Runs the worker until `stop` or the end of input, or answers one question: a reproducer
    (`repro`), the backends of a path, the operators of modules, what torch tests itself (`opinfo`);
    or waits for others that want that (`resident`). The exit status of the process."""
    if words[:1] == ["resident"]:
        from . import resident

        return resident.main(words[1:], main)
    if not words:
        return serve()
    # How a question ended says the end of what was printed, which shall not be a warning.
    warnings.simplefilter("ignore")
    return importlib.import_module(f".{QUESTIONS[words[0]]}", __package__).main()


def serve() -> int:
    """Runs the worker; its exit status."""
    protocol = os.dup(1)
    os.set_inheritable(protocol, False)
    # Whatever torch, a compiler or a vendor's module prints must not reach the protocol.
    os.dup2(2, 1)
    return Parent(0, Wire(protocol)).serve()


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    # No exit handlers: nothing is left to do, and libraries complain at length in theirs.
    os._exit(status)
