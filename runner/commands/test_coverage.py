"""`coverage`: what a run executed and judged, from its log and the operators at hand."""

import json

import pytest
from suites import log_of, overload

OPERATORS = {
    "aten::sin": [overload("Tensor", tags=("core", "pointwise"))],
    "aten::clone": [overload("Tensor", tags=())],
    "aten::_cos": [overload("Tensor", tags=())],
}


@pytest.fixture
def log(sweeping):
    """A run's directory, whose eager said what it called."""
    sweeping.dump(OPERATORS)
    sweeping.know()
    directory = sweeping.root / "out"
    sweeping("run", "ops/*", "--out", str(directory))
    lines = log_of(directory)
    for record in lines:
        if record["type"] == "verdict":
            record["uses"] = [
                f"{name}.default float32:contiguous" for name in record.get("operators", [])
            ]
            record["uses"] = [use.replace(".default.default", ".default") for use in record["uses"]]
    (directory / "run.jsonl").write_text("".join(json.dumps(record) + "\n" for record in lines))
    return directory


def test_what_was_executed_and_judged_is_counted(sweeping, log):
    done = sweeping("coverage", str(log))
    assert done.returncode == 0, done.stderr
    assert "any path  1 of 1 (100.0 %)" in done.stdout and "2 of 2 (100.0 %)" in done.stdout
    assert (
        "neither, which no rule can call:" in done.stdout
        and "      1  internal: begins with _" in done.stdout
    )
    told = json.loads(sweeping("coverage", str(log), "--json").stdout)
    assert told["counts"][0] == {"of": "core", "judged": 1, "all": 1}
    sin = next(row for row in told["overloads"] if row["name"] == "aten::sin.default")
    assert (
        sin["judged"] == {"conform": 1}
        and sin["dtypes"] == ["float32"]
        and sin["layouts"] == ["contiguous"]
    )


def test_the_run_itself_counts(sweeping, log):
    counts = log_of(log)[-1]["coverage"]
    assert counts[0] == {
        "of": "core",
        "judged": 0,
        "all": 1,
        "gaps": [
            {
                "why": "a case names it, but eager did not say that it called it",
                "count": 1,
                "names": ["aten::sin.default"],
            }
        ],
    }
    assert [count.get("path") for count in counts] == [None, None, "conform", "conform"]


def test_what_was_not_has_its_reason(sweeping, log):
    lines = log_of(log)
    for record in lines:
        record.pop("uses", None)
    (log / "run.jsonl").write_text("".join(json.dumps(record) + "\n" for record in lines))
    done = sweeping("coverage", str(log))
    assert (
        "core, not judged:" in done.stdout
        and "sin.default" in done.stdout
        and "clone.default" not in done.stdout
    )
    assert "a case names it, but eager did not say that it called it" in done.stdout
    assert "clone.default" in sweeping("coverage", str(log), "--missing").stdout


def test_a_file_is_written_where_it_is_wanted(sweeping, log):
    out = sweeping.root / "coverage.json"
    assert sweeping("coverage", str(log), "--json", "--to", str(out)).stdout == ""
    assert json.loads(out.read_text())["format"] == 1


def test_several_logs_are_counted_together(sweeping, log):
    other = sweeping.root / "other"
    other.mkdir()
    lines = log_of(log)
    (other / "run.jsonl").write_text("".join(json.dumps(record) + "\n" for record in lines))
    for record in lines:
        record.pop("uses", None)
    (log / "run.jsonl").write_text("".join(json.dumps(record) + "\n" for record in lines))
    alone, both = (
        sweeping("coverage", str(log), "--json"),
        sweeping("coverage", str(log), str(other), "--json"),
    )
    assert (
        json.loads(alone.stdout)["counts"][0]["judged"]
        < json.loads(both.stdout)["counts"][0]["judged"]
    )
    assert ", by 2 logs" in sweeping("coverage", str(log), str(other)).stdout
    assert sweeping("coverage", str(log), "nothing").returncode == 2


def test_wrong_usage_is_said(sweeping, log):
    assert sweeping("coverage", str(sweeping.root / "nothing")).returncode == 2
    sweeping.dump(OPERATORS)
    lines = log_of(log)
    for record in lines:
        if record["type"] == "environment" and record["name"] == "eager":
            record["values"]["torch"] = "1.0"
    (log / "run.jsonl").write_text("".join(json.dumps(record) + "\n" for record in lines))
    done = sweeping("coverage", str(log))
    assert (
        done.returncode == 2
        and "is of torch 1.0, and the operators at hand are those of" in done.stderr
    )


def test_the_operators_beside_the_eager_worker_are_its_own(sweeping):
    sweeping.dump(OPERATORS)
    found = sweeping("list", "ops/*", "--count").stdout
    beside_binary = sweeping.binary.parent / "schemas.json"
    beside_binary.rename(sweeping.eager.parent / "schemas.json")
    assert sweeping("list", "ops/*", "--count").stdout == found != ""
    sweeping.dump({"aten::clone": OPERATORS["aten::clone"]})
    assert sweeping("list", "ops/*", "--count").stdout == found


def test_without_the_operators_nobody_counts(suite):
    done = suite("run", "ops/clone", "--out", str(suite.root / "out"))
    assert "coverage" not in log_of(suite.root / "out")[-1] and done.returncode == 0
    assert suite("coverage", str(suite.root / "out")).returncode == 3
