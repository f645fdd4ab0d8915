"""Compilation caches, as the benchmarks need them."""

import shutil

#: How the names of what is made once for a torch begin: precompiled headers, the interface of
#: packages, and the marks that every hook into it works (lockstep_worker/trials).
_ONCE = ("precompiled_headers", "interface-", "tried-")


def forget(cache):
    """Removes all programs that were compiled, but not what is made once for a torch."""
    for toolchain in cache.glob("**/precompiled_headers"):
        for entry in toolchain.parent.iterdir():
            if not entry.name.startswith(_ONCE):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
