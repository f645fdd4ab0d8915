"""A LOCKSTEP_CACHE of a test's own: no runs of others, and nothing remembered, but what others have
compiled. In a cache with nothing compiled Inductor precompiles a header for half a minute."""

import os
import pathlib


def own_cache(folder: pathlib.Path) -> pathlib.Path:
    """The cache in that folder, made where it is not there yet."""
    cache = folder / "cache"
    cache.mkdir(exist_ok=True)
    link, compiled = cache / "inductor", os.environ.get("LOCKSTEP_TEST_CACHE")
    if compiled and not link.is_symlink():
        os.makedirs(compiled, exist_ok=True)
        link.symlink_to(compiled)
    return cache
