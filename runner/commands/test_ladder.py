"""`--ladder`: which paths it takes, and what it says of the first layer that diverges."""

import json

import pytest
from suites import verdicts


@pytest.fixture
def layers(suite):
    """conform, then flip, which changes values, then crash; the other paths stand on none of
    them."""
    suite.path("conform", default=True, above=None)
    suite.path("flip", above="conform")
    suite.path("crash", above="flip")
    return suite


def test_it_takes_every_layer_or_those_below_a_path(layers):
    def listed(*arguments):
        return layers("list", "--ladder", *arguments).stdout.split()

    ids = ["bugs/1-first@cpu/conform", "bugs/1-first@cpu/crash", "bugs/1-first@cpu/flip"]
    assert sorted(listed("bugs/1-first")) == ids
    assert sorted(listed("bugs/1-first", "--path", "crash")) == ids
    assert sorted(listed("bugs/1-first", "--path", "flip")) == [ids[0], ids[2]]
    assert sorted(listed("bugs/1-first@cpu/flip")) == [ids[0], ids[2]]
    assert sorted(listed("bugs/1-first", "path:conform")) == ids[:1]
    assert listed("bugs/1-first", "--path", "slow") == ["bugs/1-first@cpu/slow"]
    assert layers("list", "--ladder", "bugs/1-first", "--path", "flop").returncode == 2


def test_it_marks_the_first_layer_that_diverges(layers):
    result = layers("run", "--ladder", "bugs/1-first", "ops/clone", "--out", "first")
    assert result.returncode == 1, result.stderr
    table = result.stdout[result.stdout.index("the ladder") :].splitlines()
    assert table[:5] == [
        "the ladder, lowest layer first; 2 instances diverge on some layer:",
        "     1  conform  -",
        "     2  flip     2 first",
        "     3  crash    2 first",
        "",
    ]
    assert table[6].startswith("     ·  ●  ●   bugs/1-first@cpu  flip: ")
    record = json.loads((layers.root / "first" / "run.json").read_text())
    assert [(layer["path"], layer["above"], layer["first"]) for layer in record["layers"]] == [
        ("conform", None, 0),
        ("flip", "conform", 2),
        ("crash", "flip", 2),
    ]
    assert record["diverging"]["ops/clone@cpu"] == {"first": ["flip", "crash"], "unknown": []}
    told = layers("report", "--ladder", "first").stdout
    assert told.startswith("the ladder, lowest layer first; 2 instances")


def test_what_diverged_is_taken_down(layers):
    assert (
        layers("run", "bugs/1-first@cpu/flip", "ops/clone@cpu/conform", "--out", "first").returncode
        == 1
    )
    assert (
        layers(
            "run", "--ladder", "status:diverging", "--from", "first", "--out", "second"
        ).returncode
        == 1
    )
    assert sorted(verdicts(layers.root / "second")) == [
        "bugs/1-first@cpu/conform",
        "bugs/1-first@cpu/crash",
        "bugs/1-first@cpu/flip",
    ]
    assert layers("list", "status:diverging", "--from", "first").stdout.split() == [
        "bugs/1-first@cpu/flip"
    ]


def test_a_run_that_did_not_go_down_says_so(layers):
    layers("run", "bugs/1-first", "--out", "first")
    assert "run --ladder" in layers("report", "--ladder", "first").stdout


@pytest.mark.parametrize(
    "above, message",
    [
        ("conformm", "did you mean `conform`?"),
        ("flip", "which leads back to this path"),
        (3, "expected"),
    ],
)
def test_a_layer_that_stands_on_nothing_is_refused(layers, above, message):
    layers.path("flip", above=above)
    result = layers("list", "bugs/1-first")
    assert result.returncode == 2 and message in result.stderr, result.stderr
    checked = layers("check", str(layers.root / "runner/paths/flip.json"))
    assert checked.returncode == 2
