"""Compilation caches, as the benchmarks need them."""

import shutil


def forget(cache):
    """Removes all that was compiled, but not the precompiled headers."""
    for toolchain in cache.glob("**/precompiled_headers"):
        for entry in toolchain.parent.iterdir():
            if entry.name != "precompiled_headers":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
