"""The yardstick: what PyTorch's own two suites ask, this one asks, too."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from yardstick import table

BINARY = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"


@pytest.fixture(scope="module")
def asked():
    pytest.importorskip("expecttest")
    return table.all_asked(str(BINARY))


def test_nothing_is_left_out(asked):
    lacking = {row.name: gaps for row, ours in asked if (gaps := table.missing(row, ours))}
    assert lacking == {}


def test_what_is_left_out_is_seen(asked):
    """Of a row of each kind, less of what it has."""
    rows = {row.name: (row, ours) for row, ours in asked}
    row, ours = rows["tanh"]
    assert table.missing(row, table.Asked({}, set(), set(), set())) == [
        *table.FLOATS, "patterns", "backward", "batch",
    ]  # fmt: skip
    halves = {dtype: each for dtype, each in ours.forward.items() if dtype != "float16"}
    row, ours = rows["tanh"][0], table.Asked(halves, ours.patterns, ours.backward, ours.batch)
    assert table.missing(row, ours) == ["float16"]
    assert table.missing(rows["bitwise_and"][0], table.Asked({}, set(), set(), set())) == [
        "integers"
    ]


def test_every_row_of_the_page_is_there(asked):
    page = (pathlib.Path(__file__).parent / "RESULTS.md").read_text("utf-8")
    assert [row.name for row, _ in asked if f"| `{row.name}` |" not in page] == []
