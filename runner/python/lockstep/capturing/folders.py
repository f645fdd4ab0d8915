"""Folders for what was captured: each run has its own, and the newest ones stay, so that the
commands that it prints go on to work; knows no torch."""

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile

from lockstep import places
from lockstep.places import Refusal

#: How many folders stay, and how many bytes of them, the newest first.
MOST_FOLDERS, MOST_BYTES = 32, 4 << 30
#: The file whose lock says that a run uses its folder.
IN_USE = ".in-use"


def new(stem: str) -> pathlib.Path:
    """A folder of this run's own, in the cache: until it ends, and whatever it becomes, nobody
    removes it. Older ones go as far as they are too many. Raises `Refusal`."""
    home = places.cache() / "captured"
    try:
        home.mkdir(parents=True, exist_ok=True)
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{stem}-", dir=home))
        _hold(folder)
    except OSError as error:
        raise Refusal(
            f"cannot write to {home}: {error.strerror}. LOCKSTEP_CACHE names another folder."
        ) from error
    _tidy(home, folder)
    return folder


def _hold(folder: pathlib.Path) -> None:
    """Locks a folder for this process and for what it becomes by `exec`."""
    held = os.open(folder / IN_USE, os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(held, fcntl.LOCK_EX)
    os.set_inheritable(held, True)


def _tidy(home: pathlib.Path, own: pathlib.Path) -> None:
    """Removes the oldest folders that are too many, unless they are in use."""
    found = []
    for each in home.iterdir():
        with contextlib.suppress(OSError):  # somebody else has removed it
            if each != own and each.is_dir() and not each.is_symlink():
                found.append((each.stat().st_mtime, each))
    left = MOST_BYTES
    for at, (_, each) in enumerate(sorted(found, reverse=True), start=2):
        left -= _bytes_of(each)
        if at > MOST_FOLDERS or left < 0:
            _remove(each)


def _bytes_of(folder: pathlib.Path) -> int:
    total = 0
    for each in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += each.lstat().st_size
    return total


def _remove(folder: pathlib.Path) -> None:
    """Removes a folder that no run uses."""
    with contextlib.suppress(OSError):
        held = os.open(folder / IN_USE, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(held)
