"""Where Lockstep's parts are and where it writes: the suite, the runner, the cache."""

import contextlib
import fcntl
import json
import os
import pathlib
import sys
import time

PACKAGE = pathlib.Path(__file__).resolve().parent


def say(text: str) -> None:
    """One line for people, on stderr, since stdout is the runner's: whole, where threads say
    theirs."""
    sys.stderr.write(f"lockstep: {text}\n")
    sys.stderr.flush()


class Refusal(Exception):
    """What cannot go on, in words for people: what was found, what was expected, how to mend it."""


def suite() -> pathlib.Path:
    """The folder that has cases/, expected/ and runner/: the package's own, or the repository."""
    carried = PACKAGE / "suite"
    return carried if carried.is_dir() else PACKAGE.parents[2]


def is_clone() -> bool:
    """Whether this is the repository, and not an installed package."""
    return not (PACKAGE / "suite").is_dir()


def cache() -> pathlib.Path:
    """LOCKSTEP_CACHE; else of a clone .lockstep, and of a package the user's cache folder."""
    given = os.environ.get("LOCKSTEP_CACHE")
    if given:
        return pathlib.Path(given).absolute()
    if is_clone():
        return suite() / ".lockstep"
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(home) / "lockstep"


@contextlib.contextmanager
def locked(folder: pathlib.Path, what: str):
    """Holds a lock in a folder while no other process does, of whichever machine shares the disk.

    Raises Refusal if the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = open(folder / "setup.lock", "a+")
    except OSError as error:
        raise Refusal(
            f"cannot write to {folder}: {error.strerror}. LOCKSTEP_CACHE names another folder."
        ) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"waiting for another process that {what}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def log_file(name: str) -> pathlib.Path:
    """Where a step of the set-up writes what it prints."""
    folder = cache() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name


def since(start: float) -> str:
    return f"{time.monotonic() - start:.1f} s"


#: What making a folder of the cache took, beside what was made.
TOOK = ".took.json"


def note_took(folder: pathlib.Path, began: float) -> None:
    """Notes seconds and bytes, for the estimates of later ones."""
    files = (each for each in folder.rglob("*") if not each.is_symlink() and each.is_file())
    took = {
        "seconds": round(time.monotonic() - began, 1),
        "bytes": sum(each.stat().st_size for each in files),
    }
    (folder / TOOK).write_text(json.dumps(took) + "\n", "utf-8")


def took_before(kind: str) -> dict[str, float] | None:
    """What a folder of a kind of the cache (venv, eager) took when it was made, on average."""
    all_took = []
    for file in sorted((cache() / kind).glob(f"torch-*/{TOOK}")):
        try:
            took = json.loads(file.read_text("utf-8"))
            all_took.append((float(took["seconds"]), float(took["bytes"])))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    if not all_took:
        return None
    seconds, sizes = zip(*all_took, strict=True)
    return {"seconds": sum(seconds) / len(seconds), "bytes": sum(sizes) / len(sizes)}
