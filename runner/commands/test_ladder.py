"""`--ladder`: which paths it takes, and what it says of the first rung that departs."""

import json

import pytest
from suites import verdicts


@pytest.fixture
def rungs(suite):
    """conform, then flip, which changes values, then crash; the other paths stand on none of
    them."""
    suite.path("conform", default=True, above=None)
    suite.path("flip", above="conform")
    suite.path("crash", above="flip")
    return suite


def test_it_takes_every_rung_or_those_below_a_path(rungs):
    def listed(*arguments):
        return rungs("list", "--ladder", *arguments).stdout.split()

    ids = ["bugs/1-first@cpu/conform", "bugs/1-first@cpu/crash", "bugs/1-first@cpu/flip"]
    assert sorted(listed("bugs/1-first")) == ids
    assert sorted(listed("bugs/1-first", "--path", "crash")) == ids
    assert sorted(listed("bugs/1-first", "--path", "flip")) == [ids[0], ids[2]]
    assert sorted(listed("bugs/1-first@cpu/flip")) == [ids[0], ids[2]]
    assert sorted(listed("bugs/1-first", "path:conform")) == ids[:1]
    assert listed("bugs/1-first", "--path", "slow") == ["bugs/1-first@cpu/slow"]
    assert rungs("list", "--ladder", "bugs/1-first", "--path", "flop").returncode == 2


def test_it_marks_the_first_rung_that_departs(rungs):
    result = rungs("run", "--ladder", "bugs/1-first", "ops/clone", "--out", "first")
    assert result.returncode == 1, result.stderr
    table = result.stdout[result.stdout.index("the ladder") :].splitlines()
    assert table[:5] == [
        "the ladder, lowest rung first; 2 instances depart on some rung:",
        "     1  conform  -",
        "     2  flip     2 first",
        "     3  crash    -",
        "",
    ]
    assert table[6].startswith("     ·  ●  x   bugs/1-first@cpu  flip: ")
    record = json.loads((rungs.root / "first" / "run.json").read_text())
    assert [(rung["path"], rung["above"], rung["first"]) for rung in record["rungs"]] == [
        ("conform", None, 0),
        ("flip", "conform", 2),
        ("crash", "flip", 0),
    ]
    assert record["departing"]["ops/clone@cpu"] == {"first": ["flip"], "unknown": []}
    told = rungs("report", "--ladder", "first").stdout
    assert told.startswith("the ladder, lowest rung first; 2 instances")


def test_what_departed_is_taken_down(rungs):
    assert (
        rungs("run", "bugs/1-first@cpu/flip", "ops/clone@cpu/conform", "--out", "first").returncode
        == 1
    )
    assert (
        rungs(
            "run", "--ladder", "status:departing", "--from", "first", "--out", "second"
        ).returncode
        == 1
    )
    assert sorted(verdicts(rungs.root / "second")) == [
        "bugs/1-first@cpu/conform",
        "bugs/1-first@cpu/crash",
        "bugs/1-first@cpu/flip",
    ]
    assert rungs("list", "status:departing", "--from", "first").stdout.split() == [
        "bugs/1-first@cpu/flip"
    ]


def test_a_run_that_did_not_go_down_says_so(rungs):
    rungs("run", "bugs/1-first", "--out", "first")
    assert "run --ladder" in rungs("report", "--ladder", "first").stdout


@pytest.mark.parametrize(
    "above, message",
    [
        ("conformm", "did you mean `conform`?"),
        ("flip", "which leads back to this path"),
        (3, "expected"),
    ],
)
def test_a_rung_that_stands_on_nothing_is_refused(rungs, above, message):
    rungs.path("flip", above=above)
    result = rungs("list", "bugs/1-first")
    assert result.returncode == 2 and message in result.stderr, result.stderr
    checked = rungs("check", str(rungs.root / "runner/paths/flip.json"))
    assert checked.returncode == 2
