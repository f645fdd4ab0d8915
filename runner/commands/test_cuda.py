"""Two CUDA devices that are none: the inventory, the selection, batches, pins and what is not sent,
up to a launch."""

import json
import os
import pathlib
import sys

import pytest
from suites import FAKE, case, verdicts

FAKE_CUDART = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "fake-cudart.so"


@pytest.fixture
def cuda(suite):
    """The suite, where every worker has two CUDA devices."""
    suite.eager.write_text(f"#!/bin/sh\nexec {sys.executable} {FAKE} cuda\n")
    for name in ("conform", "flip", "die", "same", "made-up"):
        suite.path(
            name,
            default=name == "conform",
            worker=[sys.executable, str(FAKE), "cuda"],
            devices=["cuda"],
        )
    suite.path("loose", worker=[sys.executable, str(FAKE), "cuda-pinned"])
    suite.write(
        "cases/ops/long.json",
        case(
            "as long as a block",
            inputs={
                "x": {"dtype": "float32", "shape": [128, 128], "fill": {"arange": {"start": 1}}}
            },
        ),
    )
    return suite


def test_every_instance_is_run_on_every_device(cuda):
    result = cuda("run", "--device", "cuda*", "--path", "conform", "--out", "out", "bugs/*")
    assert result.returncode == 0, result.stderr
    assert set(verdicts(cuda.root / "out")) == {
        f"{name}@cuda:{i}/conform"
        for i in (0, 1)
        for name in ("bugs/1-first", "bugs/2-second[rows=1]", "bugs/2-second[rows=2]")
    }
    # The level's, too: what is run without a selection.
    assert cuda("run", "--device", "cuda*", "--out", "smoke").returncode == 0
    assert set(verdicts(cuda.root / "smoke")) == {f"bugs/1-first@cuda:{i}/conform" for i in (0, 1)}


def test_a_device_by_its_index(cuda):
    assert (
        cuda(
            "run", "--device", "cuda:1", "--path", "conform", "bugs/1-first", "--out", "out"
        ).returncode
        == 0
    )
    assert list(verdicts(cuda.root / "out")) == ["bugs/1-first@cuda:1/conform"]
    assert "there is no device `cuda:2` here" in cuda("run", "--device", "cuda:2").stderr


@pytest.mark.parametrize("glob, device", [("cuda*", "cuda"), ("cuda:*", "cuda:0"), ("*", "cpu")])
def test_without_a_worker_a_glob_means_a_kind(suite, glob, device):
    assert suite("list", "--device", glob, "bugs/1-first").stdout.split() == [
        f"bugs/1-first@{device}"
    ]


def test_what_dies_in_a_batch_is_one_execution_on_each_device(cuda):
    result = cuda(
        *"run --device cuda* --path conform --path die -j 1 --out out bugs/* or ops/*".split()
    )
    assert result.returncode == 1, result.stderr
    by_path: dict = {}
    for record in verdicts(cuda.root / "out").values():
        by_path.setdefault(record["path"], set()).add(record["status"])
    assert by_path["conform"] == {"conform"}
    # Whatever comes alone, and not in a batch, is executed by the fake worker itself.
    assert "crash" in by_path["die"] and by_path["die"] <= {"crash", "worker_lost"}


def test_devices_are_recorded_and_shown(cuda):
    environment = {"LOCKSTEP_CUDART": str(FAKE_CUDART), "FAKE_CUDA": "two"}
    assert (
        cuda(
            "run", "bugs/1-first", "--device", "cuda:0", "--out", "out", env=environment
        ).returncode
        == 0
    )
    machine = json.loads((cuda.root / "out" / "run.json").read_text())["environment"]["machine"]
    assert machine["cuda:0"].startswith(
        "NVIDIA H100, compute capability 9.0, 80.0 GiB, "
    )  # MIG, where the driver's library says
    assert machine["cuda:0"].endswith("GPU-a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0")
    assert machine["cuda:0 free"] == "60.0 GiB" and "out of memory" in machine["cuda:1"]
    assert machine["cuda"].startswith("CUDA 13.0 (fake-cudart.so), driver ")
    doctor = cuda("doctor", env=environment).stdout
    assert "cuda:0        NVIDIA H100, compute capability 9.0" in doctor
    assert "every tensor is copied to the host" in doctor and "LOCKSTEP_WITH_CUDA" in doctor


@pytest.mark.parametrize("what, reason", [("crash", "signal 6"), ("old", "the runtime is of 13.0")])
def test_a_machine_without_a_usable_driver_runs_all_the_same(suite, what, reason):
    environment = {"LOCKSTEP_CUDART": str(FAKE_CUDART), "FAKE_CUDA": what}
    assert suite("run", "bugs/1-first", "--out", "out", env=environment).returncode == 0
    machine = json.loads((suite.root / "out" / "run.json").read_text())["environment"]["machine"]
    # Without a driver beside it, that is what is said.
    assert machine["cuda"].startswith("none: ")
    assert (
        reason in machine["cuda"]
        or what == "old"
        and "libcuda.so.1 was not found" in machine["cuda"]
    )


def test_a_worker_that_pins_otherwise_than_eager_is_reported(cuda):
    result = cuda("run", "bugs/1-first", "--device", "cuda:0", "--path", "loose", "--out", "out")
    assert "the loose worker has pin cudnn_tf32 true, eager false" in result.stderr
    assert (
        "pin cudnn_tf32"
        not in cuda("run", "bugs/1-first", "--device", "cuda:0", "--out", "out2").stderr
    )


def test_what_the_runner_has_need_not_be_sent(cuda):
    digests = {"LOCKSTEP_DIGESTS": "cuda=/nowhere.so"}  # which these workers do not load
    run = ("run", "ops/long", "--device", "cuda:0", "--path", "same", "--path", "made-up")
    assert cuda(*run, "--out", "out", env=digests).returncode == 1
    found = verdicts(cuda.root / "out")
    assert found["ops/long@cuda:0/same"]["status"] == "conform"
    made_up = found["ops/long@cuda:0/made-up"]
    assert made_up["status"] == "worker_lost" and "one of 1 blocks" in made_up["reason"]
