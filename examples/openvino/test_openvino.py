"""OpenVINO's backend as a path, and what Lockstep says of it; skipped where OpenVINO is not installed."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("openvino")

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The verdicts of a few instances, by their names, with what the run said."""
    folder = tmp_path_factory.mktemp("openvino")
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_ACTIONS")}
    done = subprocess.run([binary, "run", "bugs/97968-int8-and-clamp", "bugs/113167-variance-without-freedom", "bugs/168358-index-reduce-backward",
                           "programs/copies-of-inputs",
                           "--path-file", HERE / "openvino.json", "--path", "openvino", "--known", HERE / "known.json", "--out", folder / "run"],
                          env={**kept, "LOCKSTEP_HOME": str(ROOT), "LOCKSTEP_CACHE": str(folder), "LOCKSTEP_PYTHON": sys.executable},
                          capture_output=True, text=True, timeout=900, cwd=folder)
    verdicts = json.loads((folder / "run" / "run.json").read_text())["verdicts"] if (folder / "run" / "run.json").exists() else []
    return done, {verdict["instance"].partition("@")[0]: verdict for verdict in verdicts}


def test_what_it_computes_itself_is_told_from_what_it_leaves_to_torch(found):
    done, verdicts = found
    assert done.returncode == 0, done.stdout + done.stderr
    assert {name: (verdict["status"], verdict["standing"]) for name, verdict in verdicts.items()} == {
        "bugs/97968-int8-and-clamp": ("conform", "new"), "bugs/113167-variance-without-freedom": ("fell_back", "known"),
        "bugs/168358-index-reduce-backward": ("unsupported", "new"), "programs/copies-of-inputs": ("state_differs", "known")}
    assert verdicts["bugs/168358-index-reduce-backward"]["unsupported_by"] == "declaration"
    own = verdicts["bugs/97968-int8-and-clamp"]
    assert own["execution"] == "observed" and not own.get("share")


def test_the_version_of_the_compiler_is_recorded(found):
    done, verdicts = found
    lines = [json.loads(line) for line in pathlib.Path(done.args[-1], "run.jsonl").read_text().splitlines()]
    environment = next(line["values"] for line in lines if line["type"] == "environment" and line["name"] == "compiled")
    assert environment["package openvino"]
