"""ci/gate-release, with the torch that is here in both roles, once by its release and once as an
interpreter."""

import json
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
CASE = "bugs/185337-half-round-trip"


def gate_release(*arguments):
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY")
    }
    return subprocess.run(
        [ROOT / "ci" / "gate-release", *arguments],
        env={**environment, "LOCKSTEP_PRESET": "dev"},
        capture_output=True,
        text=True,
        timeout=900,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two runs of one case and their gate."""
    python = os.environ["LOCKSTEP_PYTHON"]
    ours = re.search(r"/venv/torch-([^/]*)-py[^/]*/bin/python$", python)
    if not ours:
        pytest.skip(
            "LOCKSTEP_PYTHON is not of an environment that ci/setup.sh made: its torch has no "
            "release that could be set up"
        )
    folder = tmp_path_factory.mktemp("gate-release") / "out"
    return (ours[1], python), folder, gate_release(ours[1], python, CASE, "--out", folder)


def test_a_release_and_itself_open_the_gate(made):
    (release, python), folder, result = made
    assert result.returncode == 0, result.stderr
    assert "the gate is open: 2 verdicts unchanged, 0 changes" in result.stdout
    names = release, re.sub(r"[^A-Za-z0-9._+]", "-", python)[1:121]
    for name in (
        f"{names[0]}/report.html",
        f"{names[1]}/run.jsonl",
        *(f"{names[0]}..{names[1]}.{kind}" for kind in ("html", "xml", "json", "md")),
    ):
        assert (folder / name).is_file(), name


def test_runs_that_are_there_are_not_made_again_and_options_of_the_gate_reach_it(made):
    torches, folder, _ = made
    (log,) = folder.glob("*-bin-python/run.jsonl")
    lines = log.read_text().splitlines(keepends=True)
    records = [json.loads(line) for line in lines]
    for record in records:
        if record.get("status") == "conform":
            reason = "killed by signal 11 (SIGSEGV)"
            record.update(
                status="crash",
                reason=reason,
                differences=[{"status": "crash", "reason": reason}],
                outputs=[],
            )
            del record["grade"]
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    again = gate_release(*torches, CASE, "--out", folder)
    assert again.returncode == 1, again.stderr
    assert "new crash" in again.stdout and again.stderr.count("is taken as it is") == 2
    allowed = gate_release(*torches, CASE, "--out", folder, "--", "--fail-on", "gone")
    assert allowed.returncode == 0 and "the gate is open" in allowed.stdout
    log.write_text("".join(lines[:-1]))  # killed before its end
    resumed = gate_release(*torches, CASE, "--out", folder)
    assert resumed.returncode == 0 and "going on with the run" in resumed.stderr


def test_wrong_usage_is_said_and_nothing_is_run(made, tmp_path):
    torches, folder, _ = made
    assert gate_release().returncode == 2
    assert gate_release("--help").stdout.startswith("usage: ci/gate-release OLD NEW")
    other = gate_release(*torches, "bugs/1*", "--out", folder)
    assert other.returncode == 2 and "holds runs of" in other.stderr
    kept = gate_release(*torches, CASE, "--html", "x.html", "--out", tmp_path)
    assert kept.returncode == 2 and "--html" in kept.stderr
    nothing = gate_release(*torches, "bugs/no-such-case", "--out", tmp_path)
    assert (
        nothing.returncode == 2
        and "ended with exit status 2" in nothing.stderr
        and not list(tmp_path.glob("*.html"))
    )
