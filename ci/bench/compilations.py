"""Compilation caches, as the benchmarks need them."""

import shutil


def forget(cache):
    """Removes all programs that were compiled, but not what is made once for a torch: precompiled
    headers, and the marks that every hook into it works (lockstep_worker/trials)."""
    for toolchain in cache.glob("**/precompiled_headers"):
        for entry in toolchain.parent.iterdir():
            if entry.name != "precompiled_headers" and not entry.name.startswith("tried-"):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
