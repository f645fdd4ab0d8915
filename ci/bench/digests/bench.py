#!/usr/bin/env python3
"""How long the host takes to digest the blocks of a storage, beside a copy of its bytes and a
comparison of all of them, in one run.

    ci/bench/digests/bench.py [MIB]

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep-digests-host.so). The runner digests what eager
returned once for each storage of at least a block, and only where a worker can tell of the
device."""

import ctypes
import os
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from ratios import tell

ROUNDS = 7


def main():
    library = os.path.join(os.environ["LOCKSTEP_BINARY_DIR"], "bin", "lockstep-digests-host.so")
    digests = ctypes.CDLL(os.path.abspath(library)).lockstep_device_digests_1
    digests.argtypes = [
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_uint64,
        ctypes.POINTER(ctypes.c_uint64),
    ]
    libc = ctypes.CDLL(None)
    libc.memcmp.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    size = int(sys.argv[1] if len(sys.argv) > 1 else 64) << 20
    one = ctypes.create_string_buffer(os.urandom(1 << 20) * (size >> 20), size)
    other = ctypes.create_string_buffer(size)
    words = (ctypes.c_uint64 * (size // 65536 * 2))()
    what = {
        "copy": lambda: ctypes.memmove(other, one, size),
        "compare": lambda: libc.memcmp(one, other, size),
        "digest": lambda: digests(0, ctypes.addressof(one), size, words),
    }
    seconds: dict = {name: [] for name in what}
    for _ in range(ROUNDS):  # in turn, so that what else the machine does meets all of them
        for name, run in what.items():
            start = time.perf_counter()
            run()
            seconds[name].append(time.perf_counter() - start)
    best = {name: min(times) for name, times in seconds.items()}
    print(
        f"{size >> 20} MiB, {ROUNDS} rounds: best, median, and the best as a multiple of a copy's"
    )
    for name, times in seconds.items():
        print(
            f"{name:8} {best[name] * 1e3:8.1f} ms {statistics.median(times) * 1e3:8.1f} ms  "
            f"{best[name] / best['copy']:6.2f}"
        )
    tell("digests, a digest in copies", best["digest"] / best["copy"], "less")


main()
