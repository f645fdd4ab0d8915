"""`list`: counts, machine-readable ids, and the tables of words; docs/reference/words.md is made of
them."""

import json
import os
import pathlib
import re

import pytest
from suites import BINARY, Suite

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "words.md"
KINDS = ("statuses", "policies", "levels", "paths")


def test_count_says_how_many(suite):
    assert suite("list", "--count", "--level", "all").stdout == "4 instances of 3 cases\n"
    assert suite("list", "--count", "bugs/1-first").stdout == "1 instance of 1 case\n"
    counted = suite("list", "--count", "--level", "all", "--path", "flip", "conform").stdout
    assert counted.split("\n") == [
        "conform       4",
        "flip          4",
        "8 verdicts of 4 instances of 3 cases",
        "",
    ]


def test_json_says_what_an_id_is(suite):
    suite.write(
        "expected/levels/core.json",
        {"format": 1, "name": "core", "title": "more", "select": ["bugs/*"]},
    )
    said = json.loads(suite("list", "bugs/*", "--json").stdout)
    assert said[0] == {
        "id": "bugs/1-first@cpu",
        "title": "passes its input on",
        "file": "cases/bugs/1-first.json",
        "operators": ["aten::clone.default"],
        "dtypes": ["float32"],
        "levels": ["core", "smoke"],
    }
    assert [each["levels"] for each in said[1:]] == [["core"], ["core"]]
    of_path = json.loads(suite("list", "bugs/1-first", "--path", "flip", "--json").stdout)
    assert of_path == [{**said[0], "id": "bugs/1-first@cpu/flip"}]


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_the_same_in_each_form(suite, kind):
    """Every cell of the JSON stands in the text, in order, and in the Markdown."""
    tables = json.loads(suite("list", f"--{kind}", "--json").stdout)
    text = re.sub(r" +", " ", suite("list", f"--{kind}").stdout)
    markdown = suite("list", f"--{kind}", "--markdown").stdout
    rows = [row for table in tables.values() for row in table]
    assert len(rows) > 1 and kind in tables
    place = 0
    for row in rows:
        place = text.index(
            "\n"
            + re.sub(r" +", " ", " ".join(cell for cell in row.values() if cell or len(row) < 3)),
            place,
        )
        assert f"| `{row['name']}` |" in markdown
    assert markdown.count("\n|") == len(rows) + 2 * len(tables) - 1


def test_a_table_of_cases_says_what_is_known_of_them(suite):
    rule = {
        "instances": ["bugs/1-first@cpu"],
        "paths": ["flip", "conform"],
        "torch": ">=2.13",
        "status": "value_diverges",
        "because": "bug",
        "reason": "flip negates",
        "link": "https://example.org/1",
        "date": "2026-11-21",
    }
    suite.write("expected/known/a.json", {"format": 2, "known": [rule, rule]})
    lines = suite("list", "bugs/*", "--markdown").stdout.splitlines()
    assert lines[:3] == [
        "| case | says | tags | report | known |",
        "|---|---|---|---|---|",
        "| `bugs/1-first` | passes its input on | silent | https://example.org/1 "
        "| bug: value_diverges on flip, conform with torch >=2.13 |",
    ]
    assert len(lines) == 4 and lines[3].endswith("|  |"), "nothing is known of the other one"
    alone = suite("list", "bugs/1-first", "--path", "flip", "--markdown").stdout.splitlines()
    assert alone == lines[:3]


def test_levels_are_counted(suite):
    suite.write(
        "expected/levels/core.json",
        {"format": 1, "name": "core", "title": "more", "select": ["bugs/*"]},
    )
    levels = {
        row["name"]: row for row in json.loads(suite("list", "--levels", "--json").stdout)["levels"]
    }
    assert {name: (row["cases"], row["instances"]) for name, row in levels.items()} == {
        "all": ("3", "4"),
        "core": ("2", "3"),
        "smoke": ("1", "1"),
    }
    assert levels["core"]["title"] == "more"


@pytest.mark.parametrize(
    "flags",
    [
        ["--statuses", "--paths"],
        ["--count", "--json"],
        ["--markdown", "--json"],
        ["--markdown", "--count"],
        ["--count", "--as-level"],
        ["--unswept", "--levels"],
    ],
)
def test_one_thing_at_a_time(suite, flags):
    done = suite("list", *flags)
    assert done.returncode == 2 and not done.stdout and "found" in done.stderr


def test_the_page_of_words_is_what_list_prints(tmp_path):
    """LOCKSTEP_RENEW=1 writes it."""
    lockstep = Suite(tmp_path / "unused", BINARY)

    def markdown(kind):
        done = lockstep("list", f"--{kind}", "--markdown", env={"LOCKSTEP_HOME": str(ROOT)})
        assert done.returncode == 0, done.stderr
        if kind != "levels":
            return done.stdout
        # Without the counts, which change with every case.
        return re.sub(r"^(\|[^|]*\|)[^|]*\|[^|]*\|", r"\1", done.stdout, flags=re.M)

    first, second, third, fourth = markdown("statuses").split("\n\n")
    page = f"""# The words of a verdict

Written by `LOCKSTEP_RENEW=1 pytest runner/commands/test_listing.py` from what `lockstep list \
--statuses`, `--policies`, `--levels`
and `--paths` print, which is what the program itself goes by; not by hand.

## Statuses
What the judge says of one instance on one path. Of two findings the graver one is the status. \
What fails makes the exit status 1.

{first}

## Standings
What the [expectations](../cases/expectations.md) say of it.

{second}

## Grades
How closely an output agrees with eager, whatever policy its case asks for, strictest first.

{third}

## Transitions
What `lockstep gate` says of a verdict from one run to another, the worst first, \
and which fail it by default.

{fourth}
## Policies
When an output agrees; a case names one in `compare` ([how each decides](../cases/policies.md)), \
else the path's contract does.

{markdown("policies")}
## Levels
What `--level` takes, from `expected/levels/`. `lockstep list --levels` also counts.

{markdown("levels")}
## Paths
What `--path` takes, from `runner/paths/`. Each path does all that the one above it does, \
and more: the ladder.

{markdown("paths")}"""
    if os.environ.get("LOCKSTEP_RENEW"):
        assert not os.environ.get("CI")
        PAGE.write_text(page)
    assert page == PAGE.read_text(), "LOCKSTEP_RENEW=1 writes it anew"
