"""Packages of AOTInductor through the real binary and both workers: executed in a run, packed,
replayed without Python, and refused where a file of a pack is another one."""

import hashlib
import json
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import pytest
from bare_suite import ROOT, make_suite

sys.path.insert(0, str(ROOT / "ci"))

from own_cache import own_cache

X = {"dtype": "float32", "shape": [4, 5], "fill": {"arange": {"start": -7, "divide": 3}}}
VALUES = struct.pack("<20f", *range(20))
OF_FILE = {"dtype": "float32", "shape": [4, 5], "file": f"{hashlib.sha256(VALUES).hexdigest()}.bin"}
CASES: dict[str, dict] = {
    "relu": {
        "inputs": {"x": X},
        "steps": [{"let": "y", "op": "relu", "args": ["%x"]}],
        "outputs": ["y"],
    },
    # What differs between calls is no constant of the package.
    "grows": {
        "inputs": {"x": X},
        "calls": [{"x": {"shape": [4, 5]}}, {"x": {"shape": [7, 5]}}],
        "steps": [{"let": "y", "op": "sum.dim_IntList", "args": ["%x", [0]]}],
        "outputs": ["y"],
    },
    # What it writes to is seen, and so is what shares memory with an input.
    "writes": {
        "inputs": {
            "x": X,
            "z": OF_FILE,
            "w": {
                "dtype": "float32",
                "shape": [5, 3],
                "fill": {"arange": {"divide": 8}},
                "constant": True,
            },
        },
        "steps": [
            {"op": "add_.Tensor", "args": ["%x", 1]},
            {"let": "v", "op": "t", "args": ["%z"]},
            {"let": "y", "op": "mm", "args": ["%x", "%w"]},
        ],
        "outputs": ["v", "y"],
    },
    # How many elements there are only the values say, and no program may ask.
    "refused": {
        "inputs": {"n": {"dtype": "int64", "values": [3]}},
        "steps": [
            {"let": "k", "op": "item", "args": ["%n"]},
            {"let": "m", "scalar": ["or", "%k", 2]},
            {"let": "y", "op": "ones", "args": [["%m"]]},
        ],
        "outputs": ["y"],
    },
    "differentiates": {
        "inputs": {"x": {**X, "requires_grad": True}},
        "backward": {"of": ["y"]},
        "steps": [{"let": "y", "op": "relu", "args": ["%x"]}],
        "outputs": ["y"],
    },
}
BUG = {"torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY": "accuracy"}


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    cases = tmp_path_factory.mktemp("cases")
    (cases / "bugs" / "values").mkdir(parents=True)
    (cases / "bugs" / "values" / str(OF_FILE["file"])).write_bytes(VALUES)
    for name, content in CASES.items():
        (cases / "bugs" / f"{name}.json").write_text(
            json.dumps({"format": 1, "title": name, **content})
        )
    suite = make_suite(tmp_path_factory.mktemp("suite"), cases)
    for name in ("aoti", "export", "eager-python"):
        shutil.copy(ROOT / "runner" / "paths" / f"{name}.json", suite / "runner" / "paths")
    faulty = {
        **json.loads((suite / "runner" / "paths" / "aoti.json").read_text()),
        "name": "faulty",
        "config": BUG,
    }
    (suite / "runner" / "paths" / "faulty.json").write_text(json.dumps(faulty))
    return suite


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return str(own_cache(tmp_path_factory.mktemp("of_packages")))


def lockstep(suite, cache, *arguments, **environment):
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    return subprocess.run(
        [binary, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=1200,
        cwd=cache,
        env={
            **os.environ,
            "LOCKSTEP_HOME": str(suite),
            "LOCKSTEP_PYTHON": sys.executable,
            "LOCKSTEP_CACHE": cache,
            **environment,
        },
    )


def statuses(directory):
    return {
        verdict["id"]: verdict["status"]
        for verdict in json.loads((directory / "run.json").read_text())["verdicts"]
    }


@pytest.fixture(scope="module")
def pack(suite, cache, tmp_path_factory):
    """A pack, and what the run said that made it."""
    folder = tmp_path_factory.mktemp("packed")
    done = lockstep(
        suite,
        cache,
        "pack",
        folder / "pack",
        "bugs/*@cpu/aoti",
        "bugs/relu@cpu/faulty",
        "--out",
        folder / "run",
    )
    return folder / "pack", folder / "run", done


def replay(pack, cache, out, *arguments, **environment):
    # There is no Python for it, and nothing of the suite.
    environment = {"LOCKSTEP_PYTHON": "/no/python", **environment}
    return lockstep("/nowhere", cache, "replay", pack, *arguments, "--out", out, **environment)


def test_packages_are_executed_and_judged(pack):
    _, run, done = pack
    assert done.returncode == 1, done.stdout + done.stderr  # of the faulty one
    said = statuses(run)
    refused = said.pop("bugs/refused@cpu/aoti")
    assert refused in ("refused", "internal_error", "spurious_error"), done.stdout
    assert said == {
        "bugs/relu@cpu/aoti": "conform",
        "bugs/grows@cpu/aoti": "conform",
        "bugs/writes@cpu/aoti": "conform",
        "bugs/differentiates@cpu/aoti": "unsupported",
        "bugs/relu@cpu/faulty": "value_diverges",
    }, done.stdout
    verdicts = {each["id"]: each for each in json.loads((run / "run.json").read_text())["verdicts"]}
    proof = verdicts["bugs/relu@cpu/aoti"]["proof"]
    assert proof["execution"] == "stated" and any(
        name.startswith("inductor/") for name in proof["executed"]
    ), proof


def test_a_pack_is_replayed_without_python(pack, cache, tmp_path):
    folder, run, _ = pack
    assert (folder / "cases" / "bugs" / "values" / str(OF_FILE["file"])).read_bytes() == VALUES
    manifest = json.loads((folder / "manifest.json").read_text())
    assert {each["id"] for each in manifest["left_out"]} == {
        "bugs/refused@cpu/aoti",
        "bugs/differentiates@cpu/aoti",
    }
    (tmp_path / "tmp").mkdir()
    done = replay(folder, cache, tmp_path / "out", TMPDIR=str(tmp_path / "tmp"))
    assert done.returncode == 1, done.stdout + done.stderr
    assert not os.listdir(tmp_path / "tmp")  # where torch unpacks packages
    assert statuses(tmp_path / "out") == {
        id_: status for id_, status in statuses(run).items() if id_ in manifest["items"]
    }
    assert f"replay {folder} bugs/relu@cpu/faulty" in done.stdout, done.stdout  # how to repeat it
    only = replay(folder, cache, tmp_path / "only", "bugs/relu@cpu/aoti", "bugs/writes")
    assert only.returncode == 0, only.stdout + only.stderr
    assert len(statuses(tmp_path / "only")) == 2
    # Whatever the order in which packages came to share a child.
    alone = replay(folder, cache, tmp_path / "alone", "--alone")
    assert statuses(tmp_path / "alone") == statuses(tmp_path / "out"), alone.stderr


def test_a_pack_of_which_a_file_is_another_one_is_refused(pack, cache, tmp_path):
    folder = tmp_path / "pack"
    shutil.copytree(pack[0], folder)
    package = next(folder.glob("jobs/*/0/package.pt2"))
    whole = package.read_bytes()
    package.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    done = replay(folder, cache, tmp_path / "out")
    assert done.returncode == 2, done.stdout + done.stderr
    assert (
        "package.pt2 is not as it was packed" in done.stderr
        and "nothing of it is executed" in done.stderr
    )
    assert not (tmp_path / "out").exists()
    package.write_bytes(whole)
    inside = replay(folder, cache, folder / "out")
    assert inside.returncode == 2 and "would be written into the pack" in inside.stderr
    again = lockstep(pack[0].parent, cache, "pack", folder, "bugs/*")
    assert again.returncode == 2 and "expected a folder that is empty" in again.stderr


def test_what_makes_no_packages_cannot_be_packed(suite, cache, tmp_path):
    done = lockstep(suite, cache, "pack", tmp_path / "pack", "bugs/relu", "--path", "export")
    assert (
        done.returncode == 2
        and "found the path export, expected one that makes packages" in done.stderr
    ), done.stderr


def test_exported_programs_are_executed_as_they_are(suite, cache, tmp_path):
    done = lockstep(
        suite,
        cache,
        *"run bugs/* --path export --out".split(),
        tmp_path / "run",
        "--no-expectations",
    )
    said = statuses(tmp_path / "run")
    assert said.pop("bugs/refused@cpu/export") != "conform", done.stdout
    assert set(said.values()) == {"conform"}, done.stdout
