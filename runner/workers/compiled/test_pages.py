"""The memory of a process that forks, in huge pages."""

import platform
import re
from pathlib import Path

import pytest

from lockstep_worker import pages


def huge() -> int:
    """Bytes of this process in huge pages."""
    text = Path("/proc/self/smaps_rollup").read_text("utf-8")
    found = re.search(r"AnonHugePages:\s*(\d+)", text)
    assert found
    return int(found[1]) * 1024


@pytest.mark.skipif(not Path(pages._SIZE).exists(), reason="this kernel has no huge pages")
@pytest.mark.skipif(
    tuple(map(int, re.findall(r"\d+", platform.release())[:2])) < (6, 1),
    reason="this kernel cannot collapse pages at once",
)
def test_memory_is_in_huge_pages_and_as_it_was():
    size = int(Path(pages._SIZE).read_text("ascii"))
    memory = bytearray(range(256)) * (4 * size // 256)
    before = huge()
    assert pages.collapse() >= 2 * size
    assert huge() - before >= 2 * size
    assert memory == bytearray(range(256)) * (4 * size // 256)


def test_areas_are_aligned_and_no_longer_than_what_is_there(monkeypatch):
    size, memory = 1 << 16, bytearray(1 << 20)
    found = list(pages._areas(size))
    assert found and memory
    for start, length in found:
        assert start % size == 0 and length % size == 0 and length > 0


def test_a_kernel_without_huge_pages_has_nothing_collapsed(monkeypatch):
    monkeypatch.setattr(pages, "_SIZE", "/nowhere/hpage_pmd_size")
    assert pages.collapse() == 0
