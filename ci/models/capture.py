"""The program of a model, run and captured; knows no torch."""

import json
import pathlib
import subprocess
import sys

from lockstep.capturing import script

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDER = ROOT / "cases" / "models"

#: How long a capture takes at most, in seconds.
SECONDS = 1_200
#: The most bytes of a file.
MOST_BYTES = 256 << 10


class Failed(Exception):
    """A model could not be captured; the message says why."""


def execute(words: list[str], folder: pathlib.Path, calls: bool) -> str:
    """Has the program captured; what it prints. Raises `Failed`."""
    limits = {"bytes": 1 << 30, "graphs": 64, "functions": False, "calls": calls}
    command = [sys.executable, script.__file__, str(folder), json.dumps(limits)]
    command += [str(HERE / "program.py"), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise Failed(str(error)) from error
    if done.returncode:
        raise Failed(done.stderr[-3000:])
    return done.stdout.strip()
