"""What path files set, through the real binary: folders, options, and a backend that nobody
registers."""

import json
import pathlib

import pytest
from bare_suite import lockstep

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: A backend that is found only in a folder that the path file names.
MODULE = """
import os

import torch


@torch._dynamo.register_backend(name="lockstep_found")
def found(graph, inputs):
    assert os.environ["LOCKSTEP_FOUND"] == "1"
    assert "GLIBC_TUNABLES" not in os.environ, "the runner's, which is for its worker alone"
    return graph.forward


@torch._dynamo.register_backend(name="lockstep_with_options")
def with_options(graph, inputs, *, options):
    assert options == {"level": 3, "fast": True}, options
    assert os.environ["GLIBC_TUNABLES"] == "glibc.malloc.check=0", "the path's, not the runner's"
    return graph.forward
"""


@pytest.fixture(scope="module")
def path_file(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paths")
    (folder / "modules").mkdir()
    (folder / "modules" / "lockstep_found.py").write_text(MODULE)

    def write(name, **more):
        file = folder / f"{name}.json"
        file.write_text(
            json.dumps(
                {
                    "format": 2,
                    "name": name,
                    "title": "found",
                    "contract": "bits",
                    "worker": "compiled",
                    "backend": "lockstep_found",
                    "may_call": ["*"],
                    "import": ["lockstep_found"],
                    "devices": ["*"],
                    **more,
                    "environment": {
                        "PYTHONPATH": str(folder / "modules"),
                        "LOCKSTEP_FOUND": "1",
                        **more.get("environment", {}),
                    },
                }
            )
        )
        return file

    return write


def test_the_folders_of_a_path_are_put_in_front_of_ours(path_file, tmp_path):
    """Were they to replace ours, the worker would not find its own modules: `worker lost`."""
    files = (
        path_file("found"),
        path_file(
            "options",
            backend="lockstep_with_options",
            options={"level": 3, "fast": True},
            environment={"GLIBC_TUNABLES": "glibc.malloc.check=0"},
        ),
    )
    done = lockstep(
        "run",
        "bugs/185337-half-round-trip@cpu/found",
        "bugs/185337-half-round-trip@cpu/options",
        "--out",
        tmp_path / "run",
        *(word for file in files for word in ("--path-file", file)),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    verdicts = json.loads((tmp_path / "run" / "run.json").read_text())["verdicts"]
    assert {verdict["path"]: verdict["status"] for verdict in verdicts} == {
        "found": "conform",
        "options": "conform",
    }


def test_check_finds_a_backend_that_is_not_registered(path_file):
    done = lockstep("check", path_file("found"), "--path-file", path_file("registered-too"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 path: valid" in done.stdout and "not checked" not in done.stdout
    misspelt = path_file("misspelt", backend="lockstep_fund")
    for arguments in ([misspelt], [path_file("found"), "--path-file", misspelt]):
        done = lockstep("check", *arguments)
        assert done.returncode == 2, done.stdout + done.stderr
        assert (
            "/backend: found `lockstep_fund`, expected a backend that is registered with torch"
            in done.stderr
        )
        assert "did you mean `lockstep_found`?" in done.stderr
    done = lockstep("check", path_file("unfound", **{"import": ["lockstep_unfound"]}))
    assert done.returncode == 2 and "/import: cannot import lockstep_unfound" in done.stderr, (
        done.stdout + done.stderr
    )


def test_without_torch_check_says_what_it_could_not_ask(path_file, tmp_path):
    done = lockstep("check", path_file("found"), LOCKSTEP_PYTHON=tmp_path / "no-python")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "not checked whether torch has the backend `lockstep_found`" in done.stdout


def test_check_and_run_find_a_function_that_nobody_can_call(tmp_path):
    """A case of one's own of which nothing is judged is no green run."""
    mine = tmp_path / "mine.json"
    steps = [
        {"let": "y", "call": "$f", "args": ["%x"]},
        {"let": "z", "call": "torch.nn.attention.flex_attention.flex_attention", "args": ["%y"]},
    ]
    declared = {
        "format": 1,
        "title": "Functions",
        "matrix": {"f": ["torch.nn.functional.gelu", "torch.nn.functional.gleu"]},
        "inputs": {"x": {"dtype": "float32", "shape": [4], "fill": {"normal": {}, "seed": 1}}},
        "steps": steps,
        "outputs": ["z"],
    }
    mine.write_text(json.dumps(declared, indent=1))
    done = lockstep("check", mine)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "torch.nn.functional.gleu\n" in done.stderr and "/matrix/f/1: torch" in done.stderr
    assert "/steps/1/call: torch" in done.stderr and "2 errors" in done.stderr
    done = lockstep("run", mine, "--path", "aot_eager", "--out", tmp_path / "run")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "judged nothing of" in done.stdout and "has no torch.nn" in done.stdout
    declared["requires"] = {"torch": ">=90"}  # what such a torch has, nobody here knows
    mine.write_text(json.dumps(declared))
    assert lockstep("check", mine).returncode == 0
    steps.pop()
    declared |= {"matrix": {"f": ["torch.nn.functional.gelu"]}, "outputs": ["y"]}
    del declared["requires"]
    mine.write_text(json.dumps(declared))
    assert lockstep("check", mine).returncode == 0
