"""Runs that end early: Ctrl-C, kill, a full disk, limits; and how they go on."""

import json
import os
import pathlib
import re
import resource
import signal
import time

import pytest
from suites import log_of, verdicts, wait_for


def folders_of(run):
    """Directories of tensors of a run."""
    return [*pathlib.Path("/dev/shm").glob(f"lockstep-{run.pid}-*")]


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminal_that_is_closed_ends_a_run_as_kill_does(suite, end):
    run = suite.start(*"run --level all path:slow path:conform -j 1 --out out".split())
    log = suite.root / "out" / "run.jsonl"
    wait_for(lambda: log.exists() and '"verdict"' in log.read_text() and folders_of(run))
    run.send_signal(end)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 130 and "interrupted after" in output
    assert log_of(suite.root / "out")[-1]["interrupted"]
    assert "interrupted after" in (suite.root / "out" / "junit.xml").read_text()
    assert folders_of(run) == []


def test_who_ignores_that_a_terminal_is_closed_goes_on(suite):
    run = suite.start(*"run bugs/1-first path:slow --out out".split(), ignore=signal.SIGHUP)
    wait_for(lambda: (suite.root / "out" / "run.jsonl").exists())
    run.send_signal(signal.SIGHUP)
    run.communicate(timeout=60)
    assert run.returncode == 0


def test_ctrl_c_once_reports_what_was_done_and_resume_goes_on(suite):
    run = suite.start(
        *"""
            run --level all path:slow path:conform path:hang --compile-timeout 1 -j 1 --out out
        """.split()
    )
    log = suite.root / "out" / "run.jsonl"
    wait_for(lambda: log.exists() and '"verdict"' in log.read_text())
    run.send_signal(signal.SIGINT)
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "--resume" in errors and re.search(r"interrupted after \d+ of 12 verdicts", output), (
        output
    )
    end = log_of(suite.root / "out")[-1]
    assert end["type"] == "end" and end["interrupted"]
    document = json.loads((suite.root / "out" / "run.json").read_text())
    assert 0 < len(document["verdicts"]) < 12
    assert document["end"]["interrupted"]
    # The arguments come from the log.
    resumed = suite("run", "--resume", "out", "-j", "2")
    assert resumed.returncode == 1, resumed.stderr
    assert len(verdicts(suite.root / "out")) == 12
    suite.path("hang", environment={"A": "B"})
    assert suite("run", "--resume", "out").returncode == 2


def test_resume_takes_what_does_not_matter_to_verdicts_and_refuses_the_rest(suite):
    suite.path("own")
    (suite.root / "runner/paths/own.json").rename(suite.root / "own.json")
    first = suite(
        *"""
            run --level all path:own path:flip --path-file own.json --fail-fast --out out -j 1
        """.split()
    )
    assert first.returncode == 1 and "; `ci/lockstep run --resume" in first.stderr
    assert "stopped after" in first.stdout and "interrupted" not in first.stdout + first.stderr
    before = len(log_of(suite.root / "out"))
    # From elsewhere, with the log itself: paths of the first run begin where it was begun. Only new
    # failures stop it.
    elsewhere = suite.root / "elsewhere"
    elsewhere.mkdir()
    again = suite("run", "--resume", "../out/run.jsonl", "--junit", "again.xml", cwd=elsewhere)
    assert again.returncode == 1 and len(log_of(suite.root / "out")) > before, again.stderr
    assert (elsewhere / "again.xml").is_file()
    for wrong in (["bugs/1-first"], ["--level", "smoke"], ["--timeout", "5"]):
        refused = suite("run", "--resume", "out", *wrong)
        assert refused.returncode == 2 and "beside --resume" in refused.stderr, refused.stderr
    whole = suite("run", "--resume", "out", "--max-fail", "100", "--level", "all", "-j", "2")
    assert whole.returncode == 1 and "stopped" not in whole.stdout, whole.stderr
    assert log_of(suite.root / "out")[-1]["type"] == "end"


def test_resume_fails_with_strict_as_a_whole_run_does(suite):
    suite.write(
        "expected/known/old.json",
        {
            "format": 2,
            "known": [
                {
                    "instances": ["bugs/1-first@cpu"],
                    "paths": ["conform"],
                    "status": "value_diverges",
                    "because": "unreported",
                    "reason": "long gone",
                    "date": "2026-11-01",
                }
            ],
        },
    )
    assert suite("run", "bugs/1-first", "path:conform", "--out", "out").returncode == 0
    assert suite("run", "--resume", "out").returncode == 0
    assert suite("run", "--resume", "out", "--strict").returncode == 1


def test_ctrl_c_twice_leaves(suite):
    run = suite.start("run", "bugs/1-first", "path:hang", "--out", "out")
    wait_for(lambda: (suite.root / "out" / "run.jsonl").exists())
    os.kill(run.pid, signal.SIGSTOP)  # both arrive before it can act on the first
    run.send_signal(signal.SIGINT)
    run.send_signal(signal.SIGTERM)
    os.kill(run.pid, signal.SIGCONT)
    run.communicate(timeout=30)
    assert run.returncode == 130


def test_sigusr1_tells_what_runs(suite):
    run = suite.start("run", "bugs/1-first", "path:hang", "--compile-timeout", "3", "--out", "out")
    log = suite.root / "out" / "run.jsonl"
    wait_for(lambda: log.exists() and (suite.root / "out" / "worker-hang.log").exists())
    time.sleep(1)
    run.send_signal(signal.SIGUSR1)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 1
    assert re.search(r"bugs/1-first@cpu/hang: .* in the stage `compile`", errors)


def test_a_full_disk_is_an_error_and_the_log_stays_whole(suite):
    limit = 8000
    result = suite(
        *"run --level all path:conform path:flip path:crash --out out -j 1".split(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert result.returncode == 3
    assert "lockstep: cannot" in result.stderr and "make room" in result.stderr
    assert log_of(suite.root / "out")[0]["type"] == "run"  # every line is whole
    assert (suite.root / "out" / "run.jsonl").stat().st_size <= limit
    assert suite("report", "out").returncode in (0, 1)
    assert suite("run", "--resume", "out").returncode == 1


def test_a_log_is_never_overwritten(suite):
    assert suite("run", "--out", "out").returncode == 0
    before = (suite.root / "out" / "run.jsonl").read_bytes()
    refused = suite("run", "--out", "out")
    assert refused.returncode == 2
    assert "found a run in --out out, expected a directory without one" in refused.stderr
    assert "another --out" in refused.stderr and "--resume out" in refused.stderr
    assert (suite.root / "out" / "run.jsonl").read_bytes() == before


def test_fail_fast_and_max_fail_stop(suite):
    assert (
        suite(
            "run", "--level", "all", "path:flip", "--fail-fast", "-j", "1", "--out", "out"
        ).returncode
        == 1
    )
    assert len(verdicts(suite.root / "out")) < 4
    assert (
        suite("run", "--level", "all", "path:flip", "--max-fail", "4", "--out", "all").returncode
        == 1
    )
    assert len(verdicts(suite.root / "all")) == 4


def test_timeouts_are_verdicts(suite):
    result = suite("run", "bugs/1-first", "path:hang", "--compile-timeout", "1", "--out", "out")
    assert result.returncode == 1
    assert verdicts(suite.root / "out")["bugs/1-first@cpu/hang"]["status"] == "timeout"


def test_timeouts_below_a_second_hold(suite):
    # It takes 0.2 s, less than the pause between two looks at a clock.
    result = suite("run", "bugs/1-first", "path:slow", "--compile-timeout", "0.05", "--out", "out")
    assert result.returncode == 1
    assert verdicts(suite.root / "out")["bugs/1-first@cpu/slow"]["status"] == "timeout"


@pytest.mark.parametrize("moment", [0.3, 0.6, 1.0, 1.4])
def test_a_run_killed_at_any_moment_is_reported_and_resumed(suite, moment):
    arguments = ("run", "--level", "all", "path:conform", "path:flip", "path:slow", "-j", "1")
    run = suite.start(*arguments, "--shuffle", "--out", "out")
    log = suite.root / "out" / "run.jsonl"
    wait_for(lambda: log.exists() and log.stat().st_size > 0)
    time.sleep(moment)
    run.kill()
    run.communicate()
    report = suite("report", "out")
    if len(verdicts(suite.root / "out")) < 12:
        assert "the log is not complete: killed, or still going on, after" in report.stderr
        assert (
            "the run was killed, or still going on, after"
            in (suite.root / "out" / "junit.xml").read_text()
        )
    resumed = suite("run", "--resume", "out")
    assert resumed.returncode == 1, resumed.stderr
    suite(*arguments, "--out", "whole")
    kept = ("status", "standing", "reason", "grade")
    pick = lambda found: {id: [verdict.get(key) for key in kept] for id, verdict in found.items()}
    assert pick(verdicts(suite.root / "out")) == pick(verdicts(suite.root / "whole"))
