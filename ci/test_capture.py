"""What becomes of programs that are captured: the table of ci/bench/capture over its own programs.

LOCKSTEP_LONG=1 also has the package, and the programs of the folder LOCKSTEP_PROGRAMS."""

import contextlib
import json
import os
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
BENCH = ROOT / "ci" / "bench"
sys.path.insert(0, str(BENCH))

from capture import bench, roundtrip  # noqa: E402
from forks import Forks  # noqa: E402
from own_cache import own_cache  # noqa: E402

LONG = pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"), reason="takes minutes: ci/test --long"
)

#: Program → its route, the status that it shows, and a part of why it shows none.
TABLE = {
    "cast_in_training": ("graph", "value_diverges", ""),
    "cast_in_a_jacobian": ("operators", "value_diverges", ""),
    "cast_after_a_break": ("trace", "value_diverges", ""),
    "state": ("graph", "value_diverges", ""),
    "nothing_differs": ("graph", None, "nothing differs to the bit"),
    "no_torch": ("none", None, "nothing of"),
    "package": ("graph", "value_diverges", ""),
}


@pytest.fixture(autouse=True)
def tool(monkeypatch, tmp_path_factory):
    """The built runner is what is called."""
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    monkeypatch.setenv("LOCKSTEP", str(binary))
    monkeypatch.setenv("LOCKSTEP_HOME", str(ROOT))
    monkeypatch.setenv("LOCKSTEP_PYTHON", sys.executable)
    monkeypatch.setenv("LOCKSTEP_CACHE", str(own_cache(tmp_path_factory.getbasetemp())))
    monkeypatch.delenv("LOCKSTEP_RUNNER", raising=False)


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=LONG if each == "package" else ()) for each in TABLE]
)
def test_a_program_of_ours(name):
    row = bench.row_of(BENCH / "capture" / "programs" / f"{name}.py", 600)
    route, status, why = TABLE[name]
    assert row["route"] == route, row
    if status is None:
        assert not row["shows"] and why in row["why"], row
        return
    assert row["shows"] and row["checks"], row
    assert status in [each["program"][0] for each in row["magnitudes"] if each["same"]], row


def test_every_program_has_a_row():
    assert sorted(TABLE) == sorted(
        each.stem for each in (BENCH / "capture" / "programs").glob("*.py")
    )


@LONG
@pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_PROGRAMS"), reason="LOCKSTEP_PROGRAMS names a folder of programs"
)
def test_programs_of_a_folder(tmp_path):
    folder = pathlib.Path(os.environ["LOCKSTEP_PROGRAMS"])
    rows = [bench.row_of(each, 600) for each in sorted(folder.glob("[!_]*.py"))]
    for row in rows:
        print(bench.in_words(row))
    print(bench.summary_of(rows))
    (tmp_path / "table.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    written = [row for row in rows if "checks" in row]
    assert len([row for row in written if row["checks"]]) >= 0.95 * len(written)


#: Cases of each kind: values, errors, strides, crashes, several calls, state, memory, gradients.
THERE_AND_BACK = [
    "bugs/100315-attention-with-an-integer-mask",
    "bugs/117119-float8-casts",
    "bugs/135546-cross-entropy-target",
    "bugs/141865-linear-of-two-dtypes",
    "bugs/148859-length-of-unique-runs",
    "bugs/159239-rotary-embedding-of-queries",
    "bugs/174386-filled-empty-tensors",
    "bugs/181696-group-norm-of-constants",
    "bugs/185337-half-round-trip",
    "bugs/188225-constant-nan",
    "bugs/197815-like-keeps-strides",
    "findings/view-of-a-written-input",
    "format/carry",
    "format/contexts-of-calls",
    "format/no-outputs",
    "kernels/results-that-share",
    "operators/index-along-rows",
    "patterns/attention",
    "programs/calls-that-draw",
    "programs/calls-with-other-strides-of-a-square",
    "sweeps/gradients-binary",
]


def test_cases_come_back_as_they_were(tmp_path):
    ids = roundtrip.instances(THERE_AND_BACK, "inductor")
    with contextlib.closing(Forks()) as forks:
        rows = roundtrip.rows_of(ids, "inductor", tmp_path, forks)
    assert len(rows) == len(THERE_AND_BACK)
    assert [roundtrip.in_words(row) for row in rows if not row.same] == []


@LONG
def test_nine_of_ten_cases_come_back(tmp_path):
    ids = roundtrip.instances([], "inductor")
    rows = []
    with contextlib.closing(Forks()) as forks:
        for at in range(0, len(ids), roundtrip.BATCH):
            work = tmp_path / str(at)
            work.mkdir()
            rows += roundtrip.rows_of(ids[at : at + roundtrip.BATCH], "inductor", work, forks)
    written = [row for row in rows if row.old is not None]
    assert sum(row.same for row in written) >= 0.9 * len(written), roundtrip.summary_of(rows)
