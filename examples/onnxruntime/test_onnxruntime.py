"""The worker of this example, and what Lockstep says of it; skipped where ONNX Runtime is not
installed."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

for package in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(package)

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
#: ONNX Runtime as it would be if what it computes were wrong: the first byte of every result is
#: another.
FAULTY = """
import ctypes, runpy, sys
import onnxruntime

class Faulty(onnxruntime.InferenceSession):
    def run_with_ort_values(self, *arguments):
        results = super().run_with_ort_values(*arguments)
        for result in results:
            first = ctypes.cast(result.data_ptr(), ctypes.POINTER(ctypes.c_ubyte))
            first[0] ^= 0x40
        return results

onnxruntime.InferenceSession = Faulty
sys.path.insert(0, {folder!r})
runpy.run_path({worker!r}, run_name="__main__")
"""


@pytest.fixture(scope="module")
def lockstep(tmp_path_factory):
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    folder = tmp_path_factory.mktemp("onnxruntime")
    kept = {
        name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_ACTIONS")
    }

    def run(worker, *select):
        path = {**json.loads((HERE / "onnxruntime.json").read_text()), "worker": worker}
        number = len(list(folder.iterdir()))
        file, out = folder / f"path-{number}.json", folder / f"run-{number}"
        file.write_text(json.dumps(path))
        done = subprocess.run(
            [
                binary,
                "run",
                *select,
                "--path-file",
                file,
                "--path",
                "onnxruntime",
                "--known",
                HERE / "known.json",
                "--out",
                out,
            ],
            env={
                **kept,
                "LOCKSTEP_HOME": str(ROOT),
                "LOCKSTEP_CACHE": str(folder),
                "LOCKSTEP_PYTHON": sys.executable,
            },
            capture_output=True,
            text=True,
            timeout=900,
            cwd=folder,
        )
        verdicts = (
            json.loads((out / "run.json").read_text())["verdicts"]
            if (out / "run.json").exists()
            else []
        )
        return done, {verdict["instance"].partition("@")[0]: verdict for verdict in verdicts}

    return run


def test_what_it_computes_conforms_and_the_rest_is_said(lockstep):
    done, found = lockstep(
        [sys.executable, str(HERE / "worker.py")],
        "bugs/185337-half-round-trip",
        "kernels/invalid-gather",
        "programs/gradients-of-gradients",
        "programs/returned-inputs",
        "bugs/120998-half-viewed-as-bytes",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: (verdict["status"], verdict["standing"]) for name, verdict in found.items()} == {
        "bugs/185337-half-round-trip": ("conform", "new"),
        "kernels/invalid-gather": ("error_diverges", "known"),
        "programs/gradients-of-gradients": ("unsupported", "new"),
        "programs/returned-inputs": ("unsupported", "new"),
        "bugs/120998-half-viewed-as-bytes": ("unsupported", "new"),
    }
    assert {
        verdict["unsupported_by"]
        for verdict in found.values()
        if verdict["status"] == "unsupported"
    } == {"declaration"}
    assert found["bugs/185337-half-round-trip"]["proof"]["graphs"] == 1


def test_a_wrong_result_is_found(lockstep, tmp_path):
    """The saboteur: the same worker on a runtime that computes something else."""
    faulty = tmp_path / "faulty.py"
    faulty.write_text(FAULTY.format(folder=str(HERE), worker=str(HERE / "worker.py")))
    done, found = lockstep([sys.executable, str(faulty)], "bugs/185337-half-round-trip")
    assert done.returncode == 1, done.stdout + done.stderr
    assert found["bugs/185337-half-round-trip"]["status"] == "value_diverges"


def test_the_worker_answers_what_it_does_not_know(tmp_path):
    lines = [
        '{"type": "sing"}',
        "no JSON",
        json.dumps({"type": "run", "run": 3, "out": str(tmp_path)}),
        '{"type": "stop"}',
    ]
    done = subprocess.run(
        [sys.executable, HERE / "worker.py"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        timeout=60,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["type"] for answer in answers] == [
        "error",
        "error",
        "ended",
    ] and done.returncode == 0, done.stderr
    assert answers[2] == {"type": "ended", "run": 3, "exit": 64, "error": "hello comes first"}


def test_it_knows_nothing_of_lockstep():
    for file in HERE.glob("*.py"):
        if file.name != pathlib.Path(__file__).name:
            assert "lockstep_worker" not in file.read_text("utf-8"), file
