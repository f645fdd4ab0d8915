"""`kill -9` of the runner at random moments, and again while it resumes: the run that comes of it
is the undisturbed one, but for times. With fake workers, so that a run takes a second; test_kill.py
does it with the real ones. LOCKSTEP_LONG=1 tries many moments, LOCKSTEP_SEED other ones."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "commands"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from suites import BINARY, Suite, many, timeless
from test_kill import processes, wait_for_none

ROUNDS = 150 if os.environ.get("LOCKSTEP_LONG") else 6
SEED = int(os.environ.get("LOCKSTEP_SEED", "1"))
ROWS = 40
PATHS = ("conform", "crash", "flip")

pytestmark = pytest.mark.skipif(
    not BINARY.is_file(), reason="LOCKSTEP_BINARY_DIR names no build with bin/lockstep"
)


class Scene:
    """A suite, and the undisturbed run of it."""

    def __init__(self, root):
        self.suite = Suite(root / "suite", BINARY)
        self.suite.write("cases/bugs/3-many.json", many(ROWS))
        begin = time.monotonic()
        assert self.start("--out", "whole").wait(120) == 1  # two of the paths are at fault
        self.seconds = time.monotonic() - begin
        self.whole = timeless(self.suite.root / "whole")
        assert len(self.whole["verdicts"]) == ROWS * len(PATHS)

    def start(self, option, directory):
        arguments = [
            "run",
            "bugs/3-many",
            *("path:" + name for name in PATHS),
            "-j",
            "2",
            option,
            directory,
        ]
        return subprocess.Popen(
            [BINARY, *arguments],
            env=self.suite.environment(),
            cwd=self.suite.root,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def survive(self, directory, dice):
        """Runs to the end although it is killed up to four times; the processes that were."""
        killed: list = []
        log = self.suite.root / directory / "run.jsonl"
        while True:
            process = self.start("--resume" if log.exists() else "--out", directory)
            try:
                status = process.wait(dice.random() * self.seconds if len(killed) < 4 else 120)
                assert status == 1, f"{directory}: {status}"
                return killed
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait(30)
                killed.append(process.pid)


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    return Scene(tmp_path_factory.mktemp("resume"))


@pytest.mark.parametrize("round_", range(ROUNDS))
def test_a_run_that_was_killed_becomes_the_undisturbed_one(scene, round_):
    killed = scene.survive(f"round-{round_}", random.Random(f"{SEED}/{round_}"))
    print(f"seed {SEED}, round {round_}: killed {len(killed)} times")
    for pid in killed:
        for folder in ("/dev/shm", tempfile.gettempdir()):
            assert not list(pathlib.Path(folder).glob(f"lockstep-{pid}-*"))
    assert timeless(scene.suite.root / f"round-{round_}") == scene.whole


def test_the_comparison_sees_a_verdict_that_changed(scene):
    """The saboteur: a verdict of the log of a finished run is changed before it is resumed. Its
    status cannot be."""
    directory = scene.suite.root / "changed"
    assert scene.start("--out", "changed").wait(120) == 1
    log = directory / "run.jsonl"
    text = log.read_text()
    assert '"status":"value_diverges"' in text and "elements differ" in text
    log.write_text(text.replace('"status":"value_diverges"', '"status":"conform"', 1))
    assert scene.start("--resume", "changed").wait(120) not in (0, 1), (
        "a verdict that contradicts itself"
    )
    log.write_text(text.replace("elements differ", "elements agree", 1))
    assert scene.start("--resume", "changed").wait(120) == 1
    assert timeless(directory) != scene.whole


def test_what_a_worker_has_started_dies_with_the_runner(tmp_path):
    suite = Suite(tmp_path / "suite", BINARY)
    suite.path("nest")
    mark = str(tmp_path)
    runner = subprocess.Popen(
        [BINARY, "run", "bugs/1-first", "path:nest"],
        env=suite.environment(LOCKSTEP_TEST_MARK=mark),
        cwd=suite.root,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    end = time.monotonic() + 120
    while sum("sleep 600" in line for _, line in processes(mark).values()) < 2:
        assert time.monotonic() < end and runner.poll() is None
        time.sleep(0.05)
    runner.kill()
    runner.wait(30)
    wait_for_none(mark, 60)
