"""That every trial worked, remembered beside what the compiler has cached: they take a second of
each start, and try what does not change."""

import contextlib
import hashlib
import os
import pathlib
import platform
import sys

from .trial import Trial


def identity(libraries: list[str], cache: str = "") -> str:
    """Names this kernel, and the files of all modules and `libraries` as they are now, but those in
    the cache, which Inductor writes anew: 16 hexadecimal digits. Of a torch that somebody edits
    nothing is remembered."""
    digest = hashlib.sha256(platform.release().encode())
    files = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    # By both of its names, and not by the real names of thousands of files.
    generated = tuple(os.path.join(name, "") for name in (cache, os.path.realpath(cache)) if cache)
    for file in sorted({*filter(None, files), *libraries}):
        if file.startswith(generated):
            continue
        with contextlib.suppress(OSError):
            seen = os.stat(file)
            digest.update(f"\0{file}\0{seen.st_mtime_ns}\0{seen.st_size}".encode())
    return digest.hexdigest()[:16]


def mark(cache: str, libraries: list[str]) -> str:
    """The file in the cache directory that stands for trials that all worked."""
    return os.path.join(cache, f"tried-{identity(libraries, cache)}")


def failing(cache: str, libraries: list[str]) -> dict[Trial, str]:
    """What `lacking` says, or nothing where all of it is remembered to have worked."""
    from . import lacking

    file = mark(cache, libraries)
    if os.path.exists(file):
        return {}
    failed = lacking()
    if not failed:
        with contextlib.suppress(OSError):
            pathlib.Path(file).touch()
    return failed
