"""Lockstep as the benchmarks of capturing call it."""

import os
import pathlib
import shlex
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]


def lockstep(*words: str, seconds: float = 600) -> subprocess.CompletedProcess:
    """Calls the tool."""
    command = shlex.split(os.environ.get("LOCKSTEP", str(ROOT / "ci" / "lockstep")))
    try:
        return subprocess.run(
            [*command, *words], capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"more than {seconds:.0f} s")
