"""Lockstep as the benchmarks of capturing call it."""

import os
import pathlib
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]


def lockstep(*words: str, seconds: float = 600) -> subprocess.CompletedProcess:
    """Calls the tool."""
    # Not inherited: no resident worker stands in for a process with a variable of another name.
    environment = dict(os.environ)
    command = shlex.split(environment.pop("LOCKSTEP", str(ROOT / "ci" / "lockstep")))
    try:
        return subprocess.run(
            [*command, *words], env=environment, capture_output=True, text=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"more than {seconds:.0f} s")
