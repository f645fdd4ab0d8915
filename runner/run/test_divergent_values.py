"""A divergence on elements that lie in a file beside the case: told by `run`, `explain`, a script
and the smallest case, with all that these need."""

import hashlib
import json
import os
import random
import struct
import subprocess
import sys

import pytest
from bare_suite import ROOT, lockstep, path_file

sys.path.insert(0, str(ROOT / "ci"))

from own_cache import own_cache

#: One number in it is a tie between two of float16; what is not rounded gives another result.
FEW = struct.pack("<64f", *(1 + k / 4099 for k in range(64)))
#: What a text has no room for.
MANY = random.Random(7).randbytes(3 << 20)


def of_file(folder, name, dtype, shape, data):
    """A case of a tensor that lies in a file: float32 → float16 → float32 keeps the rounding."""
    file = hashlib.sha256(data).hexdigest() + ".bin"
    (folder / "values").mkdir(parents=True, exist_ok=True)
    (folder / "values" / file).write_bytes(data)
    steps = [
        {"let": "f", "op": "to.dtype", "args": ["%x", "float32"]},
        {"let": "t", "op": "mul", "args": ["%f", 1.37]},
        {"let": "h", "op": "to.dtype", "args": ["%t", "float16"]},
        {"let": "y", "op": "to.dtype", "args": ["%h", "float32"]},
    ]
    case = {
        "format": 1,
        "title": "the rounding stays",
        "inputs": {"x": {"dtype": dtype, "shape": shape, "file": file}},
        "steps": steps,
        "outputs": ["y"],
        "compare": {"y": "bits"},
    }
    (folder / f"{name}.json").write_text(json.dumps(case))
    return file


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The names of the files, and what runs a command on one of the cases on the path `mine`."""
    folder = tmp_path_factory.mktemp("own")
    few = of_file(folder, "few", "float32", [64], FEW)
    many = of_file(folder, "many", "uint8", [len(MANY)], MANY)
    path = path_file(folder, "mine", backend="inductor")
    cache = str(own_cache(folder))

    def run(command, name, *words):
        chosen = [folder / f"{name}.json", "--path-file", path, "--path", "mine"]
        return lockstep(command, *chosen, *words, LOCKSTEP_CACHE=cache)

    return few, many, run


def said_by(script):
    return subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("name", ["few", "many"])
def test_a_divergence_is_told(world, tmp_path, name):
    _, _, run = world
    done = run("run", name, "--out", tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    (verdict,) = json.loads((tmp_path / "run.json").read_text())["verdicts"]
    assert verdict["status"] == "value_diverges"


def test_a_script_has_all_its_inputs(world, tmp_path):
    """Few in its text, and beside it those that a text has no room for."""
    _, many, run = world
    script = tmp_path / "few.py"
    made = run("repro", "few", "--to", script)
    assert made.returncode == 0, made.stderr
    assert not (tmp_path / "values").exists()
    done = said_by(script)
    assert done.returncode == 1, done.stdout + done.stderr
    script = tmp_path / "many.py"
    made = run("repro", "many", "--to", script)
    assert made.returncode == 0, made.stderr
    assert script.stat().st_size < 1 << 20
    assert [file.name for file in (tmp_path / "values").iterdir()] == [many]
    assert (tmp_path / "values" / many).read_bytes() == MANY
    assert "Keep the folder values beside it" in script.read_text()
    done = said_by(script)
    assert done.returncode == 1, done.stdout + done.stderr
    whole = run("repro", "many")
    assert whole.returncode == 0 and len(whole.stdout) > 4 << 20, "one text has all of it"


def test_explain_finds_the_cast(world):
    _, _, run = world
    done = run("explain", "few")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "emulate_precision_casts" in done.stdout, done.stdout
    assert "float16 after step h" in done.stdout, done.stdout


def test_a_smaller_case_has_its_files_beside_it(world, tmp_path):
    """What is too large to be written out stays a file."""
    _, many, run = world
    done = run("shrink", "many", "--to", tmp_path / "same.json")
    assert done.returncode == 1, done.stdout + done.stderr
    same = json.loads((tmp_path / "same.json").read_text())
    assert [each.get("file") for each in same["inputs"].values()] == [many]
    assert (tmp_path / "values" / many).read_bytes() == MANY
    assert lockstep("check", tmp_path / "same.json").returncode == 0
    shown = run("shrink", "many")
    assert f"files of values are those in {os.sep}" in shown.stderr, shown.stderr
    done = run("shrink", "few", "--to", tmp_path / "small.json")
    assert done.returncode == 1, done.stdout + done.stderr
    small = json.loads((tmp_path / "small.json").read_text())
    assert ["values" in each for each in small["inputs"].values()] == [True]
