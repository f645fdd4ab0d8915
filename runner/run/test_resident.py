"""`lockstep warm`: what a resident worker forks is what a new one would have become, for the same
environment alone; it ends when it should, and leaves nothing."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ci"))

from bare_suite import make_suite, path_file  # noqa: E402
from own_cache import own_cache  # noqa: E402

CASES = (
    "bugs/185337-half-round-trip",
    "bugs/97968-int8-and-clamp",
    "programs/copies-of-inputs",
    "bugs/174172-copysign-with-negative-zero",
)


class Scene:
    """A cache of its own, and `lockstep` with it."""

    def __init__(self, folder):
        if not os.environ.get("LOCKSTEP_BINARY_DIR"):
            pytest.skip("LOCKSTEP_BINARY_DIR names no build")
        self.folder, self.cache = folder, own_cache(folder)
        (self.cache / "residents").unlink(missing_ok=True)  # that of all tests
        self.binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
        (folder / "shim").mkdir()
        self.module = folder / "shim" / "sitecustomize.py"
        self.module.write_text("here = 1\n")
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("CI", "GITHUB_ACTIONS") and not name.startswith("PYTEST_")
        } | {
            "LOCKSTEP_HOME": str(ROOT),
            "LOCKSTEP_CACHE": str(self.cache),
            "LOCKSTEP_PYTHON": sys.executable,
            "PYTHONPATH": str(folder / "shim"),
        }

    def __call__(self, *words, **more):
        return subprocess.run(
            [self.binary, *words],
            env=self.environment | more,
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    def verdicts(self, name, **more):
        """Of the cases, all that does not depend on time."""
        done = self("run", *CASES, "--path", "inductor", "--out", name, **more)
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads((self.folder / name / "run.json").read_text())["verdicts"]
        assert len(found) == len(CASES)
        keys = ("id", "status", "standing", "grade", "outputs", "eager_digest", "fingerprints")
        return [{key: verdict.get(key) for key in keys} for verdict in found]

    def forked(self):
        """How many workers it has forked until now."""
        return (self.cache / "residents" / "log").read_text().count("worker ")

    def sockets(self):
        return [each for each in (self.cache / "residents").iterdir() if each.is_socket()]

    def wait_for_end(self):
        for _ in range(200):
            if not self.sockets():
                return
            time.sleep(0.05)
        raise AssertionError("it is still there")


@pytest.fixture
def scene(tmp_path):
    scene = Scene(tmp_path)
    yield scene
    scene("warm", "--stop")


def test_it_stands_in_for_workers_of_its_environment(scene):
    alone = scene.verdicts("alone")
    said = scene("warm")
    assert said.returncode == 0 and said.stdout.startswith("a worker is resident"), said
    assert scene.verdicts("forked") == alone
    assert scene.forked() == 1
    assert "was resident already" in scene("warm").stdout
    # A variable that torch reads as it is imported, and a job of a CI.
    for more in ({"TORCHINDUCTOR_MAX_AUTOTUNE": "0"}, {"CI": "true"}):
        assert scene.verdicts("-".join(more), **more) == alone
    assert scene.forked() == 1
    # One that is taken over, as is the folder.
    (scene.folder / "elsewhere").mkdir()
    assert scene.verdicts("taken", LOCKSTEP_OF_A_TEST="1") == alone
    assert scene.forked() == 2
    # A module that registers operators, before what a resident one has behind it.
    (scene.folder / "operators.py").write_text("here = 3\n")
    done = scene("run", CASES[0], "--path", "inductor", "--module", "operators.py", "--out", "own")
    assert done.returncode == 0, done.stdout + done.stderr
    assert scene.forked() == 2
    # A file of a module that it has loaded.
    scene.module.write_text("here = 2 + 2\n")
    assert scene.verdicts("changed") == alone
    assert scene.forked() == 2
    scene.wait_for_end()


def test_it_answers_questions_as_a_process_of_its_own_does(scene):
    path = path_file(scene.folder, "misspelled", backend="inducter", contract="values")
    case = ROOT / "cases" / f"{CASES[0]}.json"
    questions = (("repro", CASES[0] + "@cpu/inductor"), ("check", case, "--path-file", path))
    alone = [scene(*words) for words in questions]
    assert "def program" in alone[0].stdout and "found `inducter`" in alone[1].stderr, alone
    assert scene("warm").returncode == 0
    for words, before in zip(questions, alone, strict=True):
        done = scene(*words)
        assert vars(done) == vars(before)
    assert scene.forked() == 2


def test_no_certificate_rests_on_it(scene):
    cases = scene.folder / "certified" / "bugs"
    cases.mkdir(parents=True)
    for case in CASES[1:3]:
        shutil.copy(ROOT / "cases" / f"{case}.json", cases)
    suite = make_suite(scene.folder / "suite", cases.parent)
    rules = {"format": 1, "comment": "", "repeat": {"times": 2, "percent": 100}, "tolerances": []}
    rules["floors"] = [{"levels": ["*"], "all": 1, "each": 1}]
    (suite / "expected" / "certification.json").write_text(json.dumps(rules))
    home = {"LOCKSTEP_HOME": str(suite)}
    level = scene("list", "--level", "all", "--as-level", **home)
    (suite / "expected" / "levels").mkdir()
    (suite / "expected" / "levels" / "two-1.json").write_text(level.stdout)
    path = path_file(scene.folder, "like-inductor", backend="inductor", contract="values")
    assert scene("warm").returncode == 0
    words = ("--path", path.stem, "--path-file", path)
    done = scene("run", "--level", "all", *words, "--out", "ran", **home)
    assert done.returncode == 0 and scene.forked() == 1, done.stdout + done.stderr
    done = scene("certify", "--level", "two-1", *words, "--out", "two.tar", **home)
    assert done.returncode == 0 and scene.forked() == 1, done.stdout + done.stderr
    done = scene("verify", "two.tar", "--sample", "100%", **home)
    assert done.returncode == 0 and scene.forked() == 1, done.stdout + done.stderr


def test_it_ends_when_it_is_told_to_and_when_nobody_comes(scene):
    assert "no worker was resident" in scene("warm", "--stop").stdout
    assert scene("warm").returncode == 0
    assert "ended the resident worker" in scene("warm", "--stop").stdout
    scene.wait_for_end()
    assert scene("warm", "--idle", "1").returncode == 0
    scene.wait_for_end()


def test_nothing_remains_of_a_runner_that_is_killed(scene):
    assert scene("warm").returncode == 0
    with subprocess.Popen(
        [scene.binary, "run", "--level", "core", "--path", "inductor", "--out", "killed"],
        env=scene.environment,
        cwd=scene.folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        for _ in range(600):
            if scene.forked() and len(children(worker(scene))) > 0:
                break
            time.sleep(0.05)
        forked = worker(scene)
        run.kill()
    for _ in range(200):
        if not os.path.exists(f"/proc/{forked}"):
            break
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{forked}")
    assert scene.sockets()  # it waits for others
    assert len(scene.verdicts("afterwards")) == len(CASES)
    assert scene.forked() == 2


def worker(scene):
    """The worker that was forked last; 0: none was."""
    lines = (scene.cache / "residents" / "log").read_text().splitlines()
    forked = [int(line.split()[1]) for line in lines if line.startswith("worker ")]
    return forked[-1] if forked else 0


def children(pid):
    path = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return path.read_text().split() if pid and path.exists() else []


def test_in_a_ci_none_stays(scene):
    done = scene("warm", CI="true")
    assert done.returncode == 2 and "CI is set" in done.stderr


def test_what_cannot_warm_up_says_why(scene):
    done = scene("warm", LOCKSTEP_PYTHON="/usr/bin/false")
    assert done.returncode == 3 and "no worker can be resident" in done.stderr, done
    assert not scene.sockets()
