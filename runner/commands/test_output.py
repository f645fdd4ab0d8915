"""Where what is printed and written goes: devices, links, full disks, closed pipes, GitHub's
files."""

import json
import os
import re
import shutil
import signal
import stat
import subprocess
import sys

import pytest
from suites import case, overload, verdicts


def on(file, suite, *arguments, **env):
    """Runs the command with that file as its standard output."""
    with open(file, "w") as out:
        return subprocess.run(
            [suite.binary, *arguments],
            env=suite.environment(**env),
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            cwd=suite.root,
        )


def large(suite):
    """What `show` prints of it is more than any buffer."""
    suite.write(
        "cases/ops/large.json",
        case(
            "many",
            matrix={"rows": list(range(1, 200))},
            inputs={
                "x": {"dtype": "float32", "shape": ["$rows", 4], "fill": {"arange": {"start": 1}}}
            },
        ),
    )


# --- standard output ---


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        ["list", "--level", "all"],
        ["list", "ops/large", "--json"],
        ["show", "bugs/1-first"],
        ["show", "ops/large"],
        ["check"],
        ["report", "out"],
        ["report", "out", "-v"],
        ["report", "out", "--junit", "-"],
        ["report", "out", "--github"],
        ["run", "bugs/1-first", "path:flip"],
        ["run", "bugs/1-first", "--json", "-"],
        ["run", "bugs/1-first", "path:flip", "--github"],
        ["doctor"],
        ["list", "--unswept"],
        ["repro", "bugs/1-first"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_printed_is_an_error(sweeping, arguments):
    suite = sweeping
    large(suite)
    suite.dump(
        {
            "aten::clone": [overload("Tensor")],
            "aten::add": [overload("Tensor", "Tensor", name="Tensor")],
        }
    )
    # For `repro`: a Python that renders more than any buffer holds.
    suite.path("inductor", worker="compiled", backend="inductor")
    python = suite.root / "python"
    python.write_text(
        '#!/bin/sh\ncase "$*" in *lockstep_worker*) exec head -c 100000 /dev/zero ;; *) exec '
        + sys.executable
        + ' "$@" ;; esac\n'
    )
    python.chmod(0o755)
    made = suite("run", "bugs/1-first", "path:conform", "path:flip", "--out", "out")
    assert made.returncode == 1, made.stdout + made.stderr
    if arguments[0] == "repro":
        arguments = [*arguments, "path:inductor"]
    result = on("/dev/full", suite, *arguments, LOCKSTEP_PYTHON=str(python))
    assert result.returncode == 3, result.stderr
    assert (
        "lockstep: cannot write all of standard output" in result.stderr
        or "lockstep: ended early: cannot write" in result.stderr
    ), result.stderr
    assert "terminate called" not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["show", "ops/large"],
        ["list", "ops/large", "--json"],
        ["report", "out", "-v"],
        ["run", "bugs/1-first", "path:flip", "--github"],
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves_is_no_error(suite, arguments):
    large(suite)
    assert suite("run", "bugs/1-first", "path:flip", "--out", "out").returncode == 1
    gone, out = os.pipe()
    os.close(gone)
    # As a shell starts it: Python ignores the signal.
    restore = lambda: signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    result = subprocess.run(
        [suite.binary, *arguments],
        env=suite.environment(),
        stdout=out,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        cwd=suite.root,
        preexec_fn=restore,
    )
    os.close(out)
    assert result.returncode == (1 if arguments[0] == "run" else -signal.SIGPIPE)
    assert "lockstep: " not in result.stderr and "terminate" not in result.stderr


def test_what_nobody_can_be_told_is_still_an_exit_status(suite):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [suite.binary, "list", "nothing/at-all"],
            env=suite.environment(),
            stdout=full,
            stderr=full,
            timeout=60,
        )
    assert result.returncode == 3


# --- reports ---


def test_reports_follow_links_and_leave_pipes_and_devices_as_they_are(suite):
    assert suite("run", "bugs/1-first", "--out", "out").returncode == 0
    (suite.root / "link.html").symlink_to("page.html")
    assert suite("report", "out", "--html", "link.html").returncode == 0
    assert (suite.root / "link.html").is_symlink() and (
        suite.root / "page.html"
    ).stat().st_size > 1000
    pipe = suite.root / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        assert suite("report", "out", "--json", "pipe").returncode == 0
        assert stat.S_ISFIFO(pipe.stat().st_mode)  # else the reader waits for ever
        assert json.loads(reader.communicate()[0])["format"] == 3
    # Not by the name in /dev, which a mistake here could take from the whole machine.
    assert json.loads(suite("report", "out", "--json", "/proc/self/fd/1").stdout)["format"] == 3
    assert (
        on(suite.root / "file", suite, "report", "out", "--json", "/proc/self/fd/1").returncode == 0
    )
    assert json.loads((suite.root / "file").read_text())["format"] == 3


@pytest.mark.parametrize("command", ["run", "report"])
def test_standard_output_has_room_for_one_report(suite, command):
    result = suite(command, "--json", "-", "--junit", "-")
    assert result.returncode == 2 and result.stdout == ""
    assert "found --junit and --json on standard output, which has room for one" in result.stderr
    assert suite("run", "--update-known=-", "--json", "/proc/self/fd/1").returncode == 2


def test_annotations_do_not_mix_with_a_report(suite):
    result = suite("run", "bugs/1-first", "path:flip", "--github", "--json", "-", "--out", "out")
    assert json.loads(result.stdout)["format"] == 3
    assert "::error" in result.stderr
    assert "::error" in suite("report", "out", "--github").stderr
    assert json.loads(suite("report", "out", "--github", "--json", "-").stdout)["format"] == 3


def test_github_takes_nothing_for_a_command_but_our_own(suite):
    """What is between the tokens is nothing to its runner; nobody has seen a token before."""
    suite.write(
        "cases/bugs/1-first.json",
        case("::error::forged ##[add-mask]x ##vso[task.x]y ##teamcity[z]", tags=["silent"]),
    )
    tokens = []
    for _ in range(2):
        result = suite("run", "bugs/1-first", "path:flip", "-v", env={"GITHUB_ACTIONS": "true"})
        assert result.returncode == 1, result.stderr
        stopped, taken = None, []
        for line in result.stderr.splitlines():
            if stopped is None and line.startswith("::stop-commands::"):
                stopped = line.removeprefix("::stop-commands::")
                assert re.fullmatch(r"lockstep(-[0-9a-f]{16}){2}", stopped)
                tokens.append(stopped)
            elif line == f"::{stopped}::":
                stopped = None
            elif stopped is None:
                taken.append(line)
        assert stopped is None  # what the job does next is taken for what it is
        assert len(taken) == 1 and taken[0].startswith("::error file=cases/bugs/1-first.json,"), (
            result.stderr
        )
        said = result.stdout + "\n".join(set(result.stderr.splitlines()) - set(taken))
        assert "forged" in said and not re.search(r"^\s*::error|##\[|##vso\[|##team", said, re.M)
        assert "stop-commands" not in result.stdout
    assert len(tokens) == len(set(tokens)) == 4
    refused = suite("report", "no\n::error::such", env={"GITHUB_ACTIONS": "true"})
    assert refused.returncode == 2 and not re.search(r"^\s*::error", refused.stderr, re.M)
    assert refused.stderr.splitlines()[0].startswith("::stop-commands::")
    assert "::" not in suite("report", "none").stderr


def test_the_summary_of_a_job_is_appended_and_cannot_get_lost(suite):
    page = suite.root / "page.md"
    page.write_text("before\n")
    result = suite(
        "run", "bugs/1-first", env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(page)}
    )
    assert result.returncode == 0, result.stderr
    assert page.read_text().startswith("before\n#")
    (suite.root / "full").symlink_to("/dev/full")
    for place, why in (("nowhere/page.md", "No such file"), ("full", "No space left")):
        result = suite("run", "bugs/1-first", "--github", env={"GITHUB_STEP_SUMMARY": place})
        assert result.returncode == 3
        assert f"cannot write the job's summary to {place}: {why}" in result.stderr, result.stderr
    assert (
        suite("run", "bugs/1-first", env={"GITHUB_STEP_SUMMARY": "nowhere/page.md"}).returncode == 0
    )


def test_verbose_reports_print_a_line_for_every_verdict(suite):
    assert (
        suite("run", "--level", "all", "path:conform", "path:flip", "--out", "out").returncode == 1
    )
    quiet, result = suite("report", "out"), suite("report", "out", "-v")
    lines = result.stdout.splitlines()
    told = [line for line in lines if re.match(r"\w.*  bugs/|\w.*  ops/", line)]
    assert (
        len(told) == 8
        and "2 fingerprints of what does not conform:" in lines
        and lines[-1] == quiet.stdout.splitlines()[-1]
        and len(verdicts(suite.root / "out")) == 8
    )
    assert re.search(r"^conform +bugs/1-first@cpu/conform", result.stdout, re.M)
    assert re.search(r"^value diverges +bugs/1-first@cpu/flip .*differ", result.stdout, re.M)
    assert (
        "\x1b[" not in result.stdout
        and "\x1b[" in suite("report", "out", "-v", "--color", "always").stdout
    )
    mixed = suite("report", "out", "-v", "--json", "-")
    assert json.loads(mixed.stdout)["format"] == 3 and "bugs/1-first@cpu/flip" in mixed.stderr


# --- a full disk ---


def test_a_bad_end_names_a_scratch_that_is_full(suite):
    small = suite.root / "small"
    small.mkdir()
    # Neither place for tensors has more than 1 MiB here: the smallest that counts as full.
    mount = f"mount -t tmpfs -o size=1m x /dev/shm && mount -t tmpfs -o size=1m x {small} && "
    inside = ["unshare", "-rm", "sh", "-c", mount + 'exec "$@"', "sh"]
    if (
        shutil.which("unshare") is None
        or subprocess.run([*inside, "true"], capture_output=True).returncode != 0
    ):
        pytest.skip("no file system can be mounted here")
    subprocess.run(
        [*inside, suite.binary, *"run bugs/1-first path:conform path:crash --out out".split()],
        timeout=60,
        env=suite.environment(TMPDIR=str(small)),
        cwd=suite.root,
        capture_output=True,
    )
    found = verdicts(suite.root / "out")
    assert found["bugs/1-first@cpu/conform"]["status"] == "conform"
    assert re.search(
        rf"{small}/lockstep-\S+ is full, \d+ of 1024 KiB are free",
        found["bugs/1-first@cpu/crash"]["reason"],
    ), found
    suite("run", "bugs/1-first", "path:crash", "--out", "roomy")
    assert "full" not in verdicts(suite.root / "roomy")["bugs/1-first@cpu/crash"]["reason"]
