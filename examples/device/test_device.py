"""A device of nobody's but this example's, through both workers; and a fault of its one kernel."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: What smoke is in CI: moves, views, writes, lazy bits, random numbers, gradients, running
#: averages, errors.
SAMPLE = """
    bugs/185337-half-round-trip bugs/104505-write-through-as-strided bugs/181581-gradient-with-graph
    kernels/normalisation kernels/inputs-as-results kernels/random-draws
    programs/lazy-bits-of-results programs/writes-to-strided-inputs programs/an-error-behind-a-write
""".split()


@pytest.fixture(scope="module")
def libraries(tmp_path_factory):
    build = tmp_path_factory.mktemp("hostdev")
    compiler = (
        [f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"]
        if (launcher := shutil.which("ccache"))
        else []
    )
    for command in (
        ["cmake", "-S", HERE, "-B", build, "-G", "Ninja", *compiler],
        ["cmake", "--build", build],
    ):
        done = subprocess.run(
            command,
            env={**os.environ, "LOCKSTEP_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    return {"good": build / "libhostdev.so", "faulty": build / "libhostdev_faulty.so"}


@pytest.fixture(scope="module")
def lockstep(tmp_path_factory):
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    folder = tmp_path_factory.mktemp("runs")
    cache = os.environ.get("LOCKSTEP_TEST_CACHE")
    kept = {
        name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_ACTIONS")
    }
    kept["LOCKSTEP_CACHE"] = str(pathlib.Path(cache).parent) if cache else str(folder / ".lockstep")

    def run(command, *arguments):
        out = folder / f"run-{len(list(folder.iterdir()))}"
        more = ["--out", out] if command == "run" else []
        done = subprocess.run(
            [binary, command, *arguments, *more],
            capture_output=True,
            text=True,
            timeout=3000,
            cwd=folder,
            env={**kept, "LOCKSTEP_HOME": str(ROOT), "LOCKSTEP_PYTHON": sys.executable},
        )
        file = out / "run.json"
        return done, {
            verdict["id"]: verdict for verdict in json.loads(file.read_text())["verdicts"]
        } if file.exists() else {}

    return run


def on(library, *more):
    return [
        "--library",
        str(library),
        "--known",
        str(HERE / "known.json"),
        *more,
        "--device",
        "hostdev*",
    ]


def test_smoke_on_eager_and_aot_eager(lockstep, libraries):
    what = ["--level", "smoke"] if os.environ.get("LOCKSTEP_LONG") else SAMPLE
    done, found = lockstep("run", *what, *on(libraries["good"], "--path", "eager,aot_eager"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert {verdict["path"] for verdict in found.values()} == {"eager", "aot_eager"}
    assert {verdict["device"] for verdict in found.values()} == {"hostdev:0"}
    statuses = [verdict["status"] for verdict in found.values()]
    assert statuses.count("conform") >= 0.9 * len(statuses) - 2, statuses


def test_the_device_is_known_by_its_library_alone(lockstep, libraries):
    listed, _ = lockstep(
        *"list bugs/185337-half-round-trip --path aot_eager --library".split(),
        str(libraries["good"]),
        "--device",
        "hostdev:0",
    )
    assert listed.stdout.split() == ["bugs/185337-half-round-trip@hostdev:0/aot_eager"], (
        listed.stderr
    )
    missing, _ = lockstep("run", "bugs/185337-half-round-trip", "--device", "hostdev*")
    assert missing.returncode == 2 and "there is no device `hostdev*`" in missing.stderr


@pytest.mark.parametrize(("library", "status"), [("good", "conform"), ("faulty", "value_diverges")])
def test_a_kernel_that_is_wrong_is_found_against_the_cpu(
    lockstep, libraries, library, status, tmp_path
):
    """13 numbers: eight at once, and a tail of five. On the device eager and what is compiled
    agree, and are both wrong."""
    case = {
        "format": 1,
        "title": "relu of a length that eight does not divide",
        "inputs": {"x": {"dtype": "float32", "shape": [13], "fill": {"arange": {"start": -20}}}},
        "steps": [{"let": "y", "op": "relu", "args": ["%x"]}],
        "outputs": ["y"],
    }
    (tmp_path / "tail.json").write_text(json.dumps(case))
    done, found = lockstep(
        "run", str(tmp_path / "tail.json"), *on(libraries[library], "--path", "kernels,aot_eager")
    )
    assert {verdict["path"]: verdict["status"] for verdict in found.values()} == {
        "kernels": status,
        "aot_eager": "conform",
    }, done.stdout
    assert done.returncode == (library == "faulty"), done.stdout + done.stderr


def test_a_reproducer_runs_on_the_device(lockstep, libraries, tmp_path):
    made, _ = lockstep(
        "repro",
        "bugs/185337-half-round-trip@hostdev:0/aot_eager",
        "--library",
        str(libraries["good"]),
        "--device",
        "hostdev:0",
        "--to",
        str(tmp_path / "repro.py"),
    )
    assert made.returncode == 0, made.stderr
    done = subprocess.run(
        [sys.executable, tmp_path / "repro.py"], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
