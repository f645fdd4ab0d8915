"""The memory of a process that forks, in huge pages: a fork copies a table of pages, and that of
300 MB in pages of 4 KiB costs more than what a small program computes."""

import contextlib
import ctypes
import re
from collections.abc import Iterator

#: <linux/mman.h>, since Linux 6.1. It does at once what MADV_HUGEPAGE leaves to a thread of the
#: kernel, whatever /sys/kernel/mm/transparent_hugepage/enabled says.
_MADV_COLLAPSE = 25
_SIZE = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
#: Writable memory of no file: the heap, and what has no name.
_ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p [0-9a-f]+ \S+ 0\s*(\[heap\])?\s*")


def collapse() -> int:
    """Puts what memory of this process can be into huge pages; how many bytes. 0 where the kernel
    has no such pages, or cannot do that."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        with open(_SIZE, encoding="ascii") as file:
            size = int(file.read())
        madvise = ctypes.CDLL(None).madvise
        madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
        return sum(
            bytes_ for start, bytes_ in _areas(size) if madvise(start, bytes_, _MADV_COLLAPSE) == 0
        )
    return 0


def _areas(size: int) -> Iterator[tuple[int, int]]:
    """Address and bytes of each area that a huge page of this size fits into, aligned to it."""
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:
        lines = file.read().splitlines()
    for line in lines:
        if found := _ANONYMOUS.fullmatch(line):
            start = -(-int(found[1], 16) // size) * size
            end = int(found[2], 16) // size * size
            if start < end:
                yield start, end - start
