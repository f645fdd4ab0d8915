"""One warmed worker for all tests: warming one up costs seconds, and half a minute in a new
cache."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[2] / "wire" / "testdata"))

from conversation import Worker


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """The compilation cache: LOCKSTEP_TEST_CACHE if that is set, else a new one."""
    return os.environ.get("LOCKSTEP_TEST_CACHE") or str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def worker(tmp_path_factory, cache):
    worker = Worker(tmp_path_factory.mktemp("scratch"), cache=cache)
    yield worker
    assert worker.stop() == 0


@pytest.fixture(scope="session")
def script_environment(cache):
    """No Lockstep on the path; the cache of the tests, which has the precompiled header."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if key not in ("PYTHONPATH", "TORCH_COMPILE_BACKEND")
    }
    return {**environment, "TORCHINDUCTOR_CACHE_DIR": os.path.join(cache, "repro")}
