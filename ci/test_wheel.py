"""The wheel: what pip's build of the eager worker compiles is all that it uses, and is carried."""

import pathlib
import re

import test_rooms

ROOT = pathlib.Path(__file__).resolve().parents[1]
EAGER = pathlib.Path("runner/workers/eager")
ROOMS = (pathlib.Path("runner/base"), pathlib.Path("runner/program"), EAGER)
UNITS = sorted(file.relative_to(ROOT) for file in (ROOT / EAGER / "units").glob("*.cpp"))


def named():
    """The sources that the units include, as often as they do."""
    return [file for unit in UNITS for file in test_rooms.included(unit)]


def reached(files):
    """The files and all of ours that they include."""
    found, todo = set(), list(files)
    while todo:
        file = todo.pop()
        if file not in found:
            found.add(file)
            todo.extend(test_rooms.included(file))
    return found


def wanted(headers):
    """The sources of the rooms to which these headers belong: those named alike, those of the
    worker, and those that have no header of their own but share one."""
    for room in ROOMS:
        for file in sorted((ROOT / room).glob("*.cpp")):
            source = file.relative_to(ROOT)
            header = source.with_suffix(".h")
            alone = room == EAGER or not (ROOT / header).is_file()
            if not source.stem.endswith("_test") and (alone or header in headers):
                yield source


def test_the_units_name_every_source_that_the_worker_uses_once():
    assert sorted(named()) == sorted(wanted(reached(UNITS)))


def test_a_source_that_is_missing_is_seen():
    headers = reached(UNITS)
    for left_out in named():
        assert left_out in wanted(headers - {left_out})


def test_what_the_units_reach_is_carried():
    carried = re.search(
        r"foreach\(room (.+)\)\n  carry\(runner/\$\{room\} PATTERN \*\.h PATTERN \*\.cpp\)",
        (ROOT / "ci/cmake/Wheel.cmake").read_text("utf-8"),
    )
    assert carried and [pathlib.Path("runner") / room for room in carried[1].split()] == [*ROOMS]
    for file in reached(UNITS):
        assert any(room in file.parents for room in ROOMS), file


def test_the_headers_of_others_that_the_units_reach_are_carried():
    """But those of the compiler and the C library, of torch and of MPFR."""
    theirs = {"ATen", "c10", "torch"}
    system = {"link.h", "linux", "sys", "x86intrin.h"}
    includes = {
        name
        for file in reached(UNITS)
        for name in re.findall(r"^#include <([^>]+)>", (ROOT / file).read_text("utf-8"), re.M)
    }
    others = {name for name in includes if "/" in name} | {"mpfr.h", "xxhash.h"} & includes
    wheel = (ROOT / "ci/cmake/Wheel.cmake").read_text("utf-8")
    for name in others:
        folder = name.split("/")[0]
        assert folder in theirs | system or re.search(rf"[ /]{folder}[/)\n ]", wheel), name
