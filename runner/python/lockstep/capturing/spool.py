"""What a program has shown so far, on disk: files that its end at any moment leaves whole.

A region is one graph, with its calls: `PID-NUMBER.json`. Bytes of tensors lie in `values/`, named
by their digest. Whoever reads a spool needs no torch."""

import contextlib
import hashlib
import json
import os
import pathlib
import tempfile
from typing import Any

#: What every region has: its program, or its calls of operators.
KEYS = frozenset(("program", "sweep"))


class Full(Exception):
    """A limit of a spool is reached; the message says which."""


class Spool:
    """A folder that one program writes, and its forks; `most_bytes` limits the tensors in it, and
    `most_regions` the graphs, of each process."""

    def __init__(self, folder: str, most_bytes: int = 1 << 30, most_regions: int = 64) -> None:
        self.folder = pathlib.Path(folder)
        self.values = self.folder / "values"
        self.values.mkdir(parents=True, exist_ok=True)
        self.left = most_bytes
        self.most_regions, self.regions = most_regions, 0

    def store(self, data: bytes) -> str:
        """Keeps bytes; their digest. Raises `Full`."""
        digest = hashlib.sha256(data).hexdigest()
        file = self.values / digest
        if not file.exists():
            if len(data) > self.left:
                raise Full("the limit of bytes of tensors is reached (--most-bytes)")
            self.left -= len(data)
            _put(file, data)
        return digest

    def begin(self) -> str:
        """The name of a new region. Raises `Full`."""
        if self.regions >= self.most_regions:
            raise Full(f"more than {self.most_regions} graphs (--most-graphs)")
        self.regions += 1
        return f"{os.getpid():08}-{self.regions:04}"

    def write(self, name: str, region: dict) -> None:
        """Puts a region down, whole, in the place of what was there."""
        with contextlib.suppress(OSError):  # the program has deleted the folder
            _put(self.folder / f"{name}.json", json.dumps(region).encode())

    def say(self, place: dict | None, reason: str) -> None:
        """Notes what could not be captured, and why."""
        line = json.dumps({"source": place, "reason": reason})
        with (
            contextlib.suppress(OSError),  # the program has deleted the folder
            open(self.folder / "reasons", "a", encoding="utf-8") as file,
        ):
            file.write(line + "\n")


def _put(file: pathlib.Path, data: bytes) -> None:
    """Writes a file so that nobody ever sees half of it."""
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".new-")
    with open(handle, "wb") as new:
        new.write(data)
    os.replace(name, file)


def regions_of(folder: pathlib.Path) -> list[dict[str, Any]]:
    """The regions of a spool, in the order in which they began; what a program has put there itself
    and is none is left out."""
    found = []
    for file in sorted(folder.glob("[0-9]*.json")):
        with contextlib.suppress(OSError, ValueError):
            region = json.loads(file.read_bytes()) if file.is_file() else None
            if isinstance(region, dict) and not KEYS.isdisjoint(region):
                found.append(region)
    return found


def reasons_of(folder: pathlib.Path) -> list[dict[str, Any]]:
    """What could not be captured: `source` and `reason`, each once."""
    file = folder / "reasons"
    if not file.is_file():
        return []
    lines = dict.fromkeys(file.read_text("utf-8").splitlines())
    return [json.loads(line) for line in lines]
