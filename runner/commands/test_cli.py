"""The command line as people and CI meet it: the real binary, with a fake worker in every role, so no torch is needed.

Goldens are in testdata; LOCKSTEP_RENEW=1 writes them anew, which CI may not.
"""

import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS = HERE / "testdata"
FAKE = HERE.parent / "engine" / "testdata" / "fake_worker.py"
BINARY = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "lockstep"
STEPS = [{"let": "y", "op": "clone.default", "args": ["%x"]}]

pytestmark = pytest.mark.skipif(not BINARY.is_file(), reason="LOCKSTEP_BINARY_DIR names no build with bin/lockstep")


def case(title, **more):
    return {"format": 1, "title": title, "inputs": {"x": {"dtype": "float32", "shape": [2, 4], "fill": {"arange": {"start": 1}}}},
            "steps": STEPS, "outputs": ["x", "y"], **more}


class Suite:
    """A suite in a folder of its own, with paths that do what their names say."""

    def __init__(self, root, binary):
        self.root = root
        self.binary = binary
        for folder in ("cases/bugs", "cases/ops", "expected/known", "expected/levels", "runner/paths"):
            (root / folder).mkdir(parents=True)
        self.write("cases/bugs/1-first.json", case("passes its input on", tags=["silent"], links=["https://example.org/1"]))
        self.write("cases/bugs/2-second.json", case("does so twice", tags=["loud"], matrix={"rows": [1, 2]},
                   inputs={"x": {"dtype": "float16", "shape": ["$rows", 4], "fill": {"arange": {"start": 1}}}}))
        self.write("cases/ops/clone.json", case("clone"))
        self.write("expected/levels/smoke.json", {"format": 1, "name": "smoke", "title": "little", "select": ["bugs/1-first"]})
        for name in ("conform", "flip", "crash", "hang", "slow", "flaky", "die"):
            self.path(name, default=name == "conform")
        self.eager = root / "eager"
        self.eager.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
        self.eager.chmod(0o755)

    def write(self, name, content):
        text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
        (self.root / name).write_text(text)

    def path(self, name, **more):
        self.write(f"runner/paths/{name}.json", {"format": 1, "name": name, "title": f"the path {name}", "promise": "bits",
                   "worker": [sys.executable, str(FAKE)], "backend": "fake", **more})

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("CI", "GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE")
                and not name.startswith("LOCKSTEP_")}
        return {**kept, "LOCKSTEP_HOME": str(self.root), "LOCKSTEP_CACHE": str(self.root / ".lockstep"),
                "LOCKSTEP_EAGER": str(self.eager), "LOCKSTEP_PYTHON": sys.executable, "LC_ALL": "C", **more}

    def __call__(self, *arguments, env=None, cwd=None, **more):
        return subprocess.run([self.binary, *arguments], env=self.environment(**(env or {})), capture_output=True, text=True,
                              timeout=120, cwd=cwd or self.root, **more)

    def start(self, *arguments):
        return subprocess.Popen([self.binary, *arguments], env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, cwd=self.root)

    def golden(self, name, text):
        """Compares with testdata/NAME after what differs between machines and moments is named."""
        text = text.replace(str(self.root), "SUITE")
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\dZ(-\d+)?", "TIME", text)
        text = re.sub(r"\b\d+\.\d+ s\b", "N s", text)
        text = re.sub(r" +N s", " N s", text)
        text = re.sub(r"^ N s  .*\n", "", text, flags=re.M)  # the slowest ones
        text = re.sub(r"^starting the .*\n", "", text, flags=re.M)  # whenever they are ready
        file = GOLDENS / name
        if os.environ.get("LOCKSTEP_RENEW"):
            assert not os.environ.get("CI"), "LOCKSTEP_RENEW is for people: goldens are read before they are committed"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            return
        assert text == file.read_text(), f"if the change is meant: LOCKSTEP_RENEW=1, and read the diff of {name}"


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    """The binary by itself: beside it a build may have the operator schemas of some torch."""
    copy = tmp_path_factory.mktemp("bin") / "lockstep"
    shutil.copy(BINARY, copy)
    return copy


@pytest.fixture
def suite(tmp_path, binary):
    return Suite(tmp_path / "suite", binary)


def log_of(directory):
    return [json.loads(line) for line in (directory / "run.jsonl").read_text().splitlines()]


def verdicts(directory):
    return {record["id"]: record for record in log_of(directory) if record["type"] == "verdict"}


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


# --- goldens ---

@pytest.mark.parametrize("command", ["", "run", "list", "show", "check", "report", "repro", "doctor"])
def test_help_is_its_golden(suite, command):
    result = suite(*[command] * bool(command), "--help")
    assert (result.returncode, result.stderr) == (0, "")
    suite.golden(f"help{'-' if command else ''}{command}.txt", result.stdout)


@pytest.mark.parametrize("name, arguments, status", [
    ("list", ["list", "--level", "all"], 0),
    ("list-json", ["list", "bugs/*", "--json"], 0),
    ("list-paths", ["list", "bugs/2*", "path:fl*"], 0),
    ("show", ["show", "bugs/2-second[rows=2]@cpu"], 0),
    ("check", ["check"], 0),
    ("run", ["run", "--level", "all", "path:conform", "path:flip", "path:crash", "-j", "1", "--out", "out"], 1),
    ("run-verbose", ["run", "--level", "all", "-v", "-j", "1", "--out", "out"], 0),
    ("error-command", ["rnu"], 2),
    ("error-option", ["run", "--max-fial", "3"], 2),
    ("error-level", ["run", "--level", "smok"], 2),
    ("error-filter", ["list", "tga:silent"], 2),
    ("error-status", ["list", "status:conforn"], 2),
    ("error-no-log", ["list", "status:conform"], 2),
    ("error-nothing-id", ["list", "bugs/2-secnd"], 4),
    ("error-nothing-word", ["list", "tag:silnt", "device:cpv"], 4),
    ("error-path", ["list", "path:conforn"], 2),
    ("error-path-far", ["run", "--path", "nothing-like-it", "--path", "conform"], 2),
    ("error-seed", ["run", "--shuffle=x"], 2),
    ("error-number", ["run", "--compile-timeout", "-1"], 2),
    ("error-device", ["run", "--device", "cudaa"], 4),
    ("error-no-suite", ["list", "--suite", "nowhere"], 2),
    ("error-no-report", ["report", "nowhere"], 2),
])
def test_text_is_its_golden(suite, name, arguments, status):
    result = suite(*arguments)
    assert result.returncode == status, result.stderr
    suite.golden(f"{name}.txt", f"{result.stdout}--- standard error\n{result.stderr}")


def test_an_invalid_file_is_its_golden_and_leaves_nothing_behind(suite):
    suite.write("cases/bugs/3-bad.json", '{"format": 1, "titel": "x",\n "inputs": {"x": {"dtype": "float23", "shape": [2]}},\n "outputs": []}\n')
    suite.write("cases/ops/broken.json", '{"format": 1,')
    suite.write("expected/known/a.json", {"format": 1, "known": [{"instances": ["bugs/1-first"], "paths": ["flip"], "status": "crahs",
                "because": "bug", "reason": "", "link": "https://example.org", "date": "2026-11-21"}]})
    result = suite("check")
    assert result.returncode == 2
    suite.golden("error-files.txt", result.stderr)
    assert suite("run", "--out", "out").returncode == 2
    assert not (suite.root / "out").exists() and not (suite.root / ".lockstep").exists()


def test_goldens_are_not_renewed_in_ci(suite, monkeypatch):
    monkeypatch.setenv("LOCKSTEP_RENEW", "1")
    monkeypatch.setenv("CI", "true")
    with pytest.raises(AssertionError, match="for people"):
        suite.golden("never.txt", "")
    assert not (GOLDENS / "never.txt").exists()


# --- exit statuses and what is left behind ---

def test_a_run_writes_its_log_and_reports_and_says_what_is_not_in_them(suite):
    result = suite("run")
    assert result.returncode == 0, result.stderr
    latest = suite.root / ".lockstep" / "runs" / "latest"
    assert {file.name for file in latest.iterdir()} >= {"run.jsonl", "run.json", "junit.xml", "report.html", "summary.md"}
    assert "level `smoke`" in result.stderr
    run, *_, end = log_of(latest)
    assert run["arguments"] == ["run"] and end["type"] == "end"
    verdict = verdicts(latest)["bugs/1-first@cpu/conform"]
    assert verdict["tags"] == ["silent"] and verdict["dtypes"] == ["float32"]
    assert "clone" in verdict["program"] and verdict["operators"]


def test_the_record_says_where_it_was_made(suite):
    suite("run", "--threads", "3", "--out", "out", env={"OMP_PROC_BIND": "true"})
    machine = next(record["values"] for record in log_of(suite.root / "out") if record.get("name") == "machine")
    assert machine["threads"] == 3 and re.fullmatch("[0-9a-f]{32}", machine["binary"])
    assert machine["env OMP_PROC_BIND"] == "true" and machine["host"]
    assert machine["compiled worker"] == "" and re.fullmatch("[0-9a-f]{32}", machine["eager worker"])
    # What is found by compilers, loaders and Python, as the user set it; and what the Python worker is.
    package = suite.root / "runner" / "workers" / "compiled" / "lockstep_worker"
    package.mkdir(parents=True)
    digests = []
    suite.eager.write_text(suite.eager.read_text() + "# another\n")
    found = {"CXXFLAGS": "-O1", "CPLUS_INCLUDE_PATH": "/a", "CPATH": "/b", "LIBRARY_PATH": "/c", "LD_LIBRARY_PATH": "/d" * 300,
             "PYTHONPATH": "/e"}
    for text in ("1", "2"):
        (package / "a.py").write_text(text)
        suite("run", "--out", text, env=found)
        values = next(record["values"] for record in log_of(suite.root / text) if record.get("name") == "machine")
        assert {name: values[f"env {name}"] for name in found} == found
        assert values["eager worker"] != machine["eager worker"] and values["binary"] == machine["binary"]
        digests.append(values["compiled worker"])
    assert all(digests) and digests[0] != digests[1]
    assert f'hostname="{machine["host"]}"' in (suite.root / "out" / "junit.xml").read_text()


def test_failures_are_1_and_no_usable_worker_is_3(suite):
    assert suite("run", "bugs/1-first", "path:flip").returncode == 1
    assert suite("run", "bugs/1-first", env={"LOCKSTEP_EAGER": "/nonexistent"}).returncode == 3
    suite.path("dead", worker=[sys.executable, str(FAKE), "die"])
    result = suite("run", "bugs/1-first", "path:dead")
    assert result.returncode == 3 and "before it said hello" in result.stdout, result.stdout + result.stderr


def test_a_path_that_was_asked_for_and_cannot_be_used_is_no_success(suite):
    suite.path("absent", default=True)
    suite.path("absent-here")  # it is the instance that lacks something
    said = suite("run", "bugs/1-first", "--path", "absent")
    assert said.returncode == 3 and "the path absent cannot be used here and judged nothing: cannot import" in said.stderr
    assert suite("run", "bugs/1-first", "--path", "absent", "--path", "flip").returncode == 1
    assert suite("run", "bugs/1-first", "--path", "absent-here").returncode == 0
    assert suite("run", "bugs/1-first").returncode == 0  # nobody asked for it by name
    (suite.root / "runner/paths/absent.json").rename(suite.root / "absent.json")
    assert suite("run", "bugs/1-first", "--path-file", "absent.json").returncode == 3


def test_what_a_worker_lacks_is_said_and_recorded(suite):
    suite.path("poor", worker=[sys.executable, str(FAKE), "poor"])
    said = suite("run", "bugs/1-first", "path:poor", "--out", "out")
    assert said.returncode == 0 and "the poor worker lacks headers: each process makes its own" in said.stderr, said.stderr
    records = [record for record in log_of(suite.root / "out") if record["type"] == "environment"]
    assert {"lacks headers": "each process makes its own"}.items() <= next(r["values"] for r in records if r["name"] == "poor").items()


def test_nothing_selected_leaves_no_directory(suite):
    assert suite("run", "bugs/9*").returncode == 4
    assert list((suite.root / ".lockstep" / "runs").iterdir()) == []


def test_color_is_only_where_it_is_wanted(suite):
    arguments = ("run", "bugs/1-first", "path:flip", "--color")
    assert "\x1b[" in suite(*arguments, "always").stdout
    assert "\x1b[" not in suite("run", "bugs/1-first", "path:flip").stdout
    assert "\x1b[" not in suite("run", "bugs/1-first", "path:flip", env={"NO_COLOR": "1"}).stdout
    assert "\x1b[" in suite("run", "bugs/1-first", "path:flip", env={"CLICOLOR_FORCE": "1"}).stdout


def test_ctrl_c_once_reports_what_was_done_and_resume_goes_on(suite):
    run = suite.start("run", "--level", "all", "path:slow", "path:conform", "path:hang", "--compile-timeout", "1", "-j", "1", "--out", "out")
    log = suite.root / "out" / "run.jsonl"
    wait_for(lambda: log.exists() and '"verdict"' in log.read_text())
    run.send_signal(signal.SIGINT)
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "--resume" in errors and re.search(r"interrupted after \d+ of 12 verdicts", output), output
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
    first = suite("run", "--level", "all", "path:own", "path:flip", "--path-file", "own.json", "--fail-fast", "--out", "out", "-j", "1")
    assert first.returncode == 1 and "; `ci/lockstep run --resume" in first.stderr
    assert "stopped after" in first.stdout and "interrupted" not in first.stdout + first.stderr
    before = len(log_of(suite.root / "out"))
    # From elsewhere, with the log itself: paths of the first run begin where it was begun. Only new failures stop it.
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
    suite.write("expected/known/old.json", {"format": 1, "known": [
        {"instances": ["bugs/1-first@cpu"], "paths": ["conform"], "status": "value_differs", "because": "unreported",
         "reason": "long gone", "date": "2026-11-01"}]})
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
    result = suite("run", "--level", "all", "path:conform", "path:flip", "path:crash", "--out", "out", "-j", "1",
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert result.returncode == 3
    assert "lockstep: cannot" in result.stderr and "make room" in result.stderr
    assert log_of(suite.root / "out")[0]["type"] == "run"  # every line is whole
    assert (suite.root / "out" / "run.jsonl").stat().st_size <= limit
    assert suite("report", "out").returncode in (0, 1)
    assert suite("run", "--resume", "out").returncode == 1


@pytest.mark.parametrize("place", ["out", "cache"])
def test_unwritable_places_are_named(suite, place):
    folder = suite.root / "closed"
    folder.mkdir()
    folder.chmod(0o555)
    prefix = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv to become another user")
        prefix = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        # pytest's folders are closed to others.
        for parent in [*suite.root.parents, suite.binary.parent]:
            if pathlib.Path(tempfile.gettempdir()) in parent.parents:
                parent.chmod(0o755)
    arguments = ["run", "--out", str(folder / "run")] if place == "out" else ["run"]
    environment = suite.environment(LOCKSTEP_CACHE=str(folder))
    result = subprocess.run([*prefix, suite.binary, *arguments], env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 3, result.stderr
    assert str(folder) in result.stderr and "Permission denied" in result.stderr
    assert list(folder.iterdir()) == []


def test_a_log_is_never_overwritten(suite):
    assert suite("run", "--out", "out").returncode == 0
    before = (suite.root / "out" / "run.jsonl").read_bytes()
    assert suite("run", "--out", "out").returncode == 3
    assert (suite.root / "out" / "run.jsonl").read_bytes() == before


@pytest.mark.parametrize("flag", ["--timeout", "--compile-timeout", "--memory"])
@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "-1", "0", "1e30", "many", ""])
def test_numbers_have_bounds(suite, flag, number):
    result = suite("run", f"{flag}={number}", "--out", "out")
    assert result.returncode == 2, result.stderr
    assert len(result.stderr) < 200 and "expected a number from 0.001 to 1" in result.stderr, result.stderr
    assert not (suite.root / "out").exists()
    assert suite("run", "bugs/9*", f"{flag}=0.5").returncode == 4


# --- selecting ---

@pytest.mark.parametrize("terms, expected", [
    (["tag:silent"], ["bugs/1-first@cpu"]),
    (["dtype:float16"], ["bugs/2-second[rows=1]@cpu", "bugs/2-second[rows=2]@cpu"]),
    (["op:clone", "!bugs/*"], ["ops/clone@cpu"]),
    (["*", "!dtype:float32", "!*rows=1*"], ["bugs/2-second[rows=2]@cpu"]),
    (["bugs/*", "device:cpu", "!tag:loud"], ["bugs/1-first@cpu"]),
])
def test_terms_select(suite, terms, expected):
    assert suite("list", *terms).stdout.splitlines() == expected


def test_statuses_come_from_an_earlier_log(suite):
    suite("run", "--level", "all", "path:conform", "path:flip", "--out", "first")
    listed = suite("list", "status:value_differs", "tag:silent", "--from", "first").stdout.splitlines()
    assert listed == ["bugs/1-first@cpu/flip"]
    result = suite("run", "status:failing", "--from", "first", "--out", "second")
    assert result.returncode == 1
    assert {verdict["path"] for verdict in verdicts(suite.root / "second").values()} == {"flip"}


# --- how much and in what order ---

def test_repeat_finds_what_changes(suite):
    result = suite("run", "bugs/1-first", "path:flaky", "path:conform", "--repeat", "3", "--out", "out")
    assert result.returncode == 1
    found = verdicts(suite.root / "out")
    flaky = found["bugs/1-first@cpu/flaky"]
    assert flaky["status"] == "value_differs" and flaky["unstable"]
    assert "3 executions disagree (conform 2 times, value_differs 1 times)" in flaky["reason"]
    assert "unstable" not in found["bugs/1-first@cpu/conform"]


def test_shuffle_prints_a_seed_that_repeats_it(suite):
    first = suite("run", "--level", "all", "--shuffle", "--out", "first")
    seed = re.search(r"--shuffle=(\d+)", first.stderr).group(1)
    assert log_of(suite.root / "first")[0]["arguments"] == ["run", "--level", "all", f"--shuffle={seed}", "--out", "first"]
    suite("run", "--level", "all", f"--shuffle={seed}", "--out", "second")
    orders = [[id for id, _ in sorted(verdicts(suite.root / run).items(), key=lambda item: item[1]["index"])] for run in ("first", "second")]
    assert orders[0] == orders[1]
    others = {log_of(suite.root / f"s{seed}")[0]["plan"] for seed in range(6)
              if suite("run", "--level", "all", f"--shuffle={seed}", "--out", f"s{seed}")}
    assert len(others) > 1


def test_fail_fast_and_max_fail_stop(suite):
    assert suite("run", "--level", "all", "path:flip", "--fail-fast", "-j", "1", "--out", "out").returncode == 1
    assert len(verdicts(suite.root / "out")) < 4
    assert suite("run", "--level", "all", "path:flip", "--max-fail", "4", "--out", "all").returncode == 1
    assert len(verdicts(suite.root / "all")) == 4


def test_timeouts_are_verdicts(suite):
    result = suite("run", "bugs/1-first", "path:hang", "--compile-timeout", "1", "--out", "out")
    assert result.returncode == 1
    assert verdicts(suite.root / "out")["bugs/1-first@cpu/hang"]["status"] == "timeout"


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
        assert "the run was killed" in report.stderr
        assert "the run ended after" in (suite.root / "out" / "junit.xml").read_text()
    resumed = suite("run", "--resume", "out")
    assert resumed.returncode == 1, resumed.stderr
    suite(*arguments, "--out", "whole")
    kept = ("status", "standing", "reason", "grade")
    pick = lambda found: {id: [verdict.get(key) for key in kept] for id, verdict in found.items()}
    assert pick(verdicts(suite.root / "out")) == pick(verdicts(suite.root / "whole"))


# --- single reports ---

def test_single_reports_go_where_they_are_asked(suite):
    result = suite("run", "--out", "out", "--junit", "ci/junit.xml", "--html", "page.html", "--json", "-")
    assert result.returncode == 0, result.stderr
    assert (suite.root / "ci" / "junit.xml").read_text() == (suite.root / "out" / "junit.xml").read_text()
    assert (suite.root / "page.html").exists()
    shutil.rmtree(suite.root / "ci")
    for file in ("junit.xml", "report.html", "summary.md"):
        (suite.root / "out" / file).unlink()
    result = suite("report", "out", "--json", "-")
    assert json.loads(result.stdout)["format"] == 1
    assert not (suite.root / "out" / "junit.xml").exists()
    assert suite("report", "out", "--summary", "-").stdout.startswith("#")
    assert suite("report", "out").returncode == 0 and (suite.root / "out" / "junit.xml").exists()


def test_the_accuracy_table_is_there_where_a_run_has_accuracy(suite):
    out = suite.root / "out"
    assert suite("run", "--out", "out").returncode == 0
    assert not (out / "accuracy.txt").exists() and not (out / "accuracy.json").exists()
    records = log_of(out)
    for record in records:
        for output in record.get("outputs", []):
            output["accuracy"] = [{"inputs": "special", "elements": 4, "compiled": "inf"}]
    (out / "run.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert suite("report", "out").returncode == 0
    text, document = (out / "accuracy.txt").read_text(), json.loads((out / "accuracy.json").read_text())
    assert document["rows"][0]["special"]["compiled"] == "inf"
    assert suite("report", "out", "--accuracy", "-").stdout == text
    assert suite("report", "out", "--accuracy", "table.json").returncode == 0
    assert json.loads((suite.root / "table.json").read_text()) == document


# --- doctor ---

def test_doctor_says_what_is_amiss_and_the_remedy(suite):
    result = suite("doctor", env={"CXX": "no-such-compiler", "LOCKSTEP_CACHE": "/proc/nowhere"})
    assert result.returncode == 3
    assert re.search(r"^FAIL  cache .*cannot be written\n +remedy: LOCKSTEP_CACHE", result.stdout, re.M)
    assert re.search(r"^FAIL  compiler .*no-such-compiler.*\n +remedy: install g\+\+", result.stdout, re.M)
    result = suite("doctor", env={"LOCKSTEP_EAGER": "/nonexistent"})
    assert re.search(r"^FAIL  eager .*/nonexistent is missing\n +remedy: ", result.stdout, re.M)


def test_doctor_asks_every_path(suite):
    suite.path("refusing", worker=[sys.executable, str(FAKE), "refuse"])
    result = suite("doctor")
    assert re.search(r"^ok    path conform +on cpu$", result.stdout, re.M), result.stdout
    assert re.search(r"^warn  path refusing .*there is no torch here", result.stdout, re.M)
    assert suite("doctor", "--quick").stdout.count("path ") == 0
