"""A LOCKSTEP_CACHE of a test's own: no runs of others, and nothing remembered, but what others have
compiled, and a worker that is resident beside that. In a cache with nothing compiled Inductor
precompiles a header for half a minute."""

import os
import pathlib


def own_cache(folder: pathlib.Path, name: str = "cache") -> pathlib.Path:
    """The cache of that name in that folder, made where it is not there yet."""
    cache = folder / name
    cache.mkdir(exist_ok=True)
    compiled = os.environ.get("LOCKSTEP_TEST_CACHE")
    if compiled and not (cache / "inductor").is_symlink():
        os.makedirs(compiled, exist_ok=True)
        (cache / "inductor").symlink_to(compiled)
        (cache / "residents").symlink_to(pathlib.Path(compiled).parent / "residents")
    return cache
