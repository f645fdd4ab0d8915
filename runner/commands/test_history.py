"""The history of runs from the command line: what it takes, what it says, and its store."""

import gzip
import json
import re
import shutil
import sys

from suites import FAKE


def test_the_history_of_three_runs(suite):
    worker = suite.root / "worker"
    worker.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "as=$(cat {suite.root}/as)"\n')
    worker.chmod(0o755)
    suite.path("x", worker=[str(worker)])
    for day, (name, path) in enumerate(
        (("one", "conform"), ("two", "flip"), ("three", "conform")), 1
    ):
        suite.write("as", path)
        assert suite("run", "bugs/*", "path:x", "--out", f"nights/{name}").returncode in (0, 1)
        log = suite.root / "nights" / name / "run.jsonl"
        text = re.sub('"started":"[^"]*"', f'"started":"2026-11-0{day}T02:00:00Z"', log.read_text())
        log.write_text(text)
    packed = suite.root / "nights" / "two.jsonl.gz"
    packed.write_bytes(gzip.compress((suite.root / "nights/two/run.jsonl").read_bytes()))
    shutil.rmtree(suite.root / "nights" / "two")
    (suite.root / "nights" / "latest").symlink_to("three")
    (suite.root / "nights" / "spoilt.jsonl").write_text("{}\n")
    done = suite("history", "nights", "--html", "pages/h.html", "--json", "h.json", "-v")
    assert done.returncode == 0 and "this is no run log" in done.stderr
    assert (
        "flaky  clone:value  since 2.13.0 of 2026-11-02, good in 2.13.0 of 2026-11-01; "
        in done.stdout
    )
    assert done.stdout.endswith("2 fingerprints: 0 open, 2 flaky, 0 fixed in 3 runs\n")
    told = json.loads((suite.root / "h.json").read_text())
    assert [run["counts"]["failing"] for run in told["runs"]] == [0, 3, 0]
    (row,) = (row for row in told["fingerprints"] if row["name"] == "clone:value")
    assert [cell["seen"] for cell in row["cells"]] == ["absent", "shown", "absent"]
    assert row["fixed_in"]["run"] == 2 and row["operators"] == ["clone"]
    assert "<svg" in (suite.root / "pages/h.html").read_text()
    only = suite("history", "nights/spoilt.jsonl")
    assert only.returncode == 2 and only.stdout == ""

    # A store has what a gate reads, and is only added to.
    first = suite("history", "nights/one", packed, "--store", "store")
    assert first.returncode == 0 and "flaky  clone:value" in first.stdout
    second = suite("history", "nights/three", "--store", "store", "--json", "-")
    assert len(json.loads(second.stdout)["runs"]) == 3
    logs = sorted((suite.root / "store").iterdir())
    assert len(logs) == 3 and all("_2.13.0_" in log.name for log in logs)
    gate = suite("gate", *map(str, logs[:2]))
    assert gate.returncode == 1 and "new divergence  clone:value" in gate.stdout
    assert suite("history", "--store", "store").stdout.endswith("in 3 runs\n")


def test_wrong_usage_is_said(suite):
    (suite.root / "empty").mkdir()
    for words, says in (
        (["history"], "expected runs, folders of logs, or --store"),
        (["history", "empty"], "found no log in empty"),
        (["history", "empty", "--keep-days", "3"], "found --keep-days without --store"),
        (["history", "nowhere"], "cannot read"),
    ):
        refused = suite(*words)
        assert refused.returncode == 2 and says in refused.stderr, refused.stderr
