"""What torch logs and warns while a program runs goes to a file, so that it does not stand before
the answer. What the program itself prints and warns stays where it is."""

import os
import pathlib
import sys
import traceback
import warnings
from typing import Any, TextIO

#: The name of the file, and how much of it is kept.
FILE, MOST_BYTES = "torch.log", 1 << 24
#: Of an environment variable: messages of torch's C++ parts below this are not printed.
CPP_LEVEL = {"TORCH_CPP_LOG_LEVEL": "ERROR"}
#: So many frames are looked at for who warns, of which some are those that show the warning.
DEEP = 12
_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


class Log:
    """A file that takes text up to a limit, as a stream of handlers."""

    def __init__(self, file: pathlib.Path) -> None:
        self._file: TextIO = open(file, "a", encoding="utf-8", errors="replace")
        self._left = MOST_BYTES

    def write(self, text: str) -> int:
        self._left -= len(text)
        if self._left >= 0:
            self._file.write(text)
            self._file.flush()  # whatever becomes of the process
        return len(text)

    def flush(self) -> None:
        """Nothing is ever held back."""


def take_warnings(log: Log) -> None:
    """Has what torch warns of written to a log."""
    shown = warnings.showwarning

    def show(
        message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None
    ) -> None:
        to = log if file is None and _is_torchs(message) else file
        shown(message, category, filename, lineno, to, line)  # type: ignore[arg-type]

    warnings.showwarning = show


def take_logs(log: Log) -> None:
    """Has what torch's loggers print written to a log, also after the program has set them up
    anew. Torch has been imported."""
    from . import compat

    compat.when_logs_are_set_up(lambda: _redirect(log))
    _redirect(log)


def _redirect(log: Log) -> None:
    import logging

    for name in list(logging.root.manager.loggerDict):
        if name != "torch" and not name.startswith("torch."):
            continue
        for handler in logging.getLogger(name).handlers:
            if type(handler) is logging.StreamHandler and handler.stream in _terminal():
                handler.setStream(log)


def _terminal() -> tuple:
    return sys.stderr, sys.__stderr__


def _is_torchs(message: Any) -> bool:
    """Whether torch, or what captures, has raised the warning that is shown now."""
    if "(Triggered internally at" in str(message):
        return True
    files = [each.filename for each in reversed(traceback.extract_stack(limit=DEEP))]
    file = next((each for each in files if each not in (__file__, warnings.__file__)), "")
    return "/torch/" in file or file.startswith(_HERE)


def of(folder: pathlib.Path) -> str:
    """What is in the log of a folder; empty where there is none."""
    file = folder / FILE
    try:
        if not file.is_file():  # the program can put anything there
            return ""
        with file.open("rb") as whole:
            return whole.read(MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
