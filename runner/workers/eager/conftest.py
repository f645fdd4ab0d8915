"""A started lockstep-eager. Set LOCKSTEP_EAGER to the binary."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1] / "digests"))
sys.path.insert(2, str(pathlib.Path(__file__).resolve().parents[2] / "wire" / "testdata"))

from eager_worker import Worker


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("LOCKSTEP_EAGER")
    if not path or not os.access(path, os.X_OK):
        pytest.fail(
            f"LOCKSTEP_EAGER must name the binary lockstep-eager; it is {path!r}", pytrace=False
        )
    return path


@pytest.fixture
def worker(binary, tmp_path):
    worker = Worker(binary, tmp_path)
    yield worker
    worker.process.kill()
    worker.process.wait()
    worker.stdin.close()
    worker.stdout.close()


@pytest.fixture
def greeted(worker):
    worker.hello()
    return worker
