"""What a run demands of itself: paths that can be used here, enough that is judged, an end."""

import json
import re
import sys

from suites import FAKE, log_of, verdicts

ONE = "bugs/1-first"
TOO_LITTLE = (
    "judged 1 of 2 verdicts that could be (50.0 %), fewer than the 90 % demanded: 1 unsupported"
)


def absent(suite, **more):
    """A path that lacks something, and whose worker says so when it is asked before the run."""
    suite.path("absent", worker=[sys.executable, str(FAKE), "asked"], **more)


# --- paths that cannot be used ---


def test_a_default_path_that_cannot_be_used_is_not_planned(suite):
    absent(suite, default=True)
    suite.write(
        "expected/known/a.json",
        {
            "format": 2,
            "known": [
                {
                    "instances": ["bugs/*"],
                    "paths": ["absent"],
                    "status": "crash",
                    "because": "unreported",
                    "reason": "r",
                    "date": "2026-11-21",
                }
            ],
        },
    )
    result = suite("run", "--level", "all", "--strict", "--out", "out")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "\nabsent: cannot import what it needs; not run\n" in result.stderr
    assert "met nothing" not in result.stdout and "skipped" not in result.stdout
    found = verdicts(suite.root / "out")
    assert {verdict["path"] for verdict in found.values()} == {"conform"}
    run = log_of(suite.root / "out")[0]
    assert run["absent_paths"] == [{"name": "absent", "reason": "cannot import what it needs"}]
    assert run["planned"] == len(found) and [path["name"] for path in run["paths"]] == ["conform"]
    assert (
        "absent</code>: cannot import what it needs; not run"
        in (suite.root / "out" / "summary.md").read_text()
    )
    assert (
        'name="lockstep.absent.absent" value="cannot import what it needs"'
        in (suite.root / "out" / "junit.xml").read_text()
    )


def test_a_path_that_somebody_asks_for_is_planned_all_the_same(suite):
    absent(suite)
    (suite.root / "runner/paths/absent.json").rename(suite.root / "absent.json")
    for arguments in (["path:absent"], ["--path", "absent"]):
        result = suite("run", ONE, *arguments, "--path-file", "absent.json")
        assert (
            result.returncode == 3
            and "the path absent cannot be used here and judged nothing" in result.stderr
        )
    absent(suite, default=True)
    assert list(verdicts_of(suite, ONE, "path:abs*")) == [f"{ONE}@cpu/absent"]


def verdicts_of(suite, *arguments):
    suite("run", *arguments, "--out", "of")
    return verdicts(suite.root / "of")


def test_without_a_default_path_that_can_be_used_no_run_is_green(suite):
    absent(suite, default=True)
    suite.path("conform")
    result = suite("run", ONE)
    assert (
        result.returncode == 3
        and "the path absent cannot be used here: cannot import what it needs" in result.stderr
    )


def test_a_run_without_that_path_is_gone_on_with(suite):
    absent(suite, default=True)
    suite.path("flip", default=True)
    assert suite("run", "--level", "all", "--fail-fast", "-j", "1", "--out", "out").returncode == 1
    result = suite("run", "--resume", "out", "--max-fail", "100")
    assert result.returncode == 1 and "after" not in result.stdout, result.stdout + result.stderr
    log = log_of(suite.root / "out")
    assert [record["type"] for record in log].count("resumed") == 1
    assert len(verdicts(suite.root / "out")) == log[0]["planned"]


# --- too little that is judged ---


def test_too_little_that_is_judged_fails_a_run(suite):
    suite.path("absent-late")
    arguments = ("run", ONE, "path:conform", "path:absent-late")
    assert suite(*arguments, "--out", "free").returncode == 0
    assert log_of(suite.root / "free")[0]["min_judged"] is None
    assert suite(*arguments, "--min-judged", "50").returncode == 0
    result = suite(*arguments, "--strict", "--out", "out")
    assert result.returncode == 1 and TOO_LITTLE in result.stdout, result.stdout
    assert log_of(suite.root / "out")[0]["min_judged"] == 90
    assert suite(*arguments, "--strict", "--min-judged", "0").returncode == 0
    record = json.loads((suite.root / "out" / "run.json").read_text())
    assert record["judged"] == {"judged": 1, "could": 2} and record["complete"] is True
    junit = (suite.root / "out" / "junit.xml").read_text()
    assert (
        re.search(r'<testcase name="judged".*\n +<error message="judged 1 of 2', junit)
        and 'errors="1"' in junit
    )
    summary = (suite.root / "out" / "summary.md").read_text()
    assert summary.startswith("## Lockstep: too little is judged\n")


def test_a_level_demands_that_most_is_judged(suite):
    suite.path("absent-late")
    assert suite("run", "--level", "all", "path:absent-late").returncode == 1
    suite.path("absent-late", default=True)
    result = suite("run", "--out", "out")
    assert result.returncode == 1 and TOO_LITTLE in result.stdout


def test_a_report_says_of_what_was_judged_what_the_run_said(suite):
    suite.path("absent-late")
    suite("run", ONE, "path:conform", "path:absent-late", "--min-judged", "90", "--out", "out")
    result = suite("report", "out")
    assert result.returncode == 1 and TOO_LITTLE in result.stderr
    assert suite("report", "out", "--min-judged", "50").returncode == 0
    suite("run", ONE, "path:conform", "path:absent-late", "--out", "free")
    assert suite("report", "free").returncode == 0
    assert suite("report", "free", "--strict").returncode == 1


# --- an end ---


def test_a_log_that_lost_a_verdict_is_none_of_a_good_run(suite):
    assert suite("run", "--level", "all", "path:conform", "--out", "out").returncode == 0
    assert suite("report", "out").returncode == 0
    log = suite.root / "out" / "run.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    taken = next(i for i, line in enumerate(lines) if '"type":"verdict"' in line)
    log.write_text("".join(lines[:taken] + lines[taken + 1 :]))
    result = suite("report", "out")
    assert result.returncode == 1
    assert "the log is not complete: stopped after" in result.stderr


def test_a_log_that_is_not_complete_is_called_so(suite):
    assert suite("run", ONE, "path:conform", "--out", "out").returncode == 0
    log = suite.root / "out" / "run.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    assert json.loads(lines[-1])["type"] == "end"
    log.write_text("".join(lines[:-1]))
    result = suite("report", "out")
    assert result.returncode == 1
    assert (
        "the log is not complete: killed, or still going on, after 1 of 1 verdict; "
        in result.stderr
    )
    assert json.loads((suite.root / "out" / "run.json").read_text())["complete"] is False
    assert re.search(
        r'<testcase name="complete".*\n +<error message="the run was killed',
        (suite.root / "out" / "junit.xml").read_text(),
    )
    assert (
        "killed, or still going on, after 1 of 1 verdict"
        in (suite.root / "out" / "summary.md").read_text()
    )


def test_a_verdict_that_was_added_by_hand_is_refused_with_its_line(suite):
    assert suite("run", ONE, "path:flip", "--out", "out").returncode == 1
    log = suite.root / "out" / "run.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if json.loads(line)["type"] == "verdict")
    log.write_text("".join([*lines[: at + 1], lines[at], *lines[at + 1 :]]))
    result = suite("report", "out")
    assert result.returncode == 2
    assert (
        f"run.jsonl:{at + 2}: found a second verdict of {ONE}@cpu/flip, whose first is in line "
        f"{at + 1}" in result.stderr
    )
