"""CPU levels and threads as variants of a path, through the real binary: A backend that is wrong at
one level is found there only. Eager's own kernels are compared with the machine's. Caches are kept
apart. What the machine lacks is reported."""

import json
import pathlib

import pytest
import torch
from bare_suite import lockstep

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASE = "bugs/185337-half-round-trip"
#: A backend that computes by itself, adds 1 where torch runs at avx2, or where there are several
#: threads, and notes where it was.
MODULE = """
import json
import os

import torch


@torch._dynamo.register_backend(name="lockstep_levels")
def levels(graph, inputs):
    level = torch.backends.cpu.get_cpu_capability()
    names = "ATEN_CPU_CAPABILITY ONEDNN_MAX_CPU_ISA MKL_CBWR TORCHINDUCTOR_CACHE_DIR".split()
    notes = {name: os.environ.get(name) for name in names}
    notes.update(level=level, threads=torch.get_num_threads())
    with open(os.environ["LOCKSTEP_NOTES"], "a") as file:
        file.write(json.dumps(notes) + "\\n")
    wrong = level == "AVX2" or torch.get_num_threads() == 3

    def run(*tensors):
        return [value + 1 if wrong else value for value in graph.forward(*tensors)]

    return run
"""

native = torch.backends.cpu.get_cpu_capability()


def verdicts(folder):
    lines = (json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines())
    return {line["path"]: line for line in lines if line["type"] == "verdict"}


@pytest.mark.skipif(native != "AVX512", reason="the machine has one level of vectors at most")
def test_a_backend_that_is_wrong_at_one_level_is_found_there(tmp_path):
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "lockstep_levels.py").write_text(MODULE)
    path = tmp_path / "levels.json"
    path.write_text(
        json.dumps(
            {
                "format": 2,
                "name": "levels",
                "title": "wrong at avx2",
                "contract": "bits",
                "worker": "compiled",
                "backend": "lockstep_levels",
                "may_call": ["*"],
                "import": ["lockstep_levels"],
                "environment": {
                    "PYTHONPATH": str(tmp_path / "modules"),
                    "LOCKSTEP_NOTES": str(tmp_path / "notes"),
                },
                "variants": {
                    "scalar": {"cpu_level": "default"},
                    "avx2": {"cpu_level": "avx2"},
                    "three": {"threads": 3},
                    "two": {"threads": 2},
                    "vsx": {"cpu_level": "vsx"},
                },
            }
        )
    )
    done = lockstep(
        "run",
        CASE,
        "--path",
        "levels,levels.*",
        "--path-file",
        path,
        "--no-expectations",
        "--out",
        tmp_path / "run",
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = verdicts(tmp_path / "run")
    assert {name: verdict["status"] for name, verdict in found.items()} == {
        "levels": "conform",
        "levels.scalar": "conform",
        "levels.avx2": "value_diverges",
        "levels.three": "value_diverges",
        "levels.two": "conform",
        "levels.vsx": "unsupported",
    }
    assert {name: verdict.get("reference") for name, verdict in found.items()} == {
        "levels": None,
        "levels.scalar": "at default",
        "levels.avx2": "at avx2",
        "levels.three": "with 3 threads",
        "levels.two": "with 2 threads",
        "levels.vsx": "at vsx",
    }
    assert found["levels.vsx"]["unsupported_by"] == "machine"
    assert "no CPU level vsx" in found["levels.vsx"]["reason"]
    assert "eager is that at avx2" in done.stdout
    notes = [json.loads(line) for line in (tmp_path / "notes").read_text().splitlines()]
    by_level = {note["level"]: note for note in notes if note["threads"] == 2}
    assert by_level["AVX2"]["ONEDNN_MAX_CPU_ISA"] == by_level["AVX2"]["MKL_CBWR"] == "AVX2"
    assert by_level["DEFAULT"]["MKL_CBWR"] == "COMPATIBLE"
    # Inductor's key does not tell levels apart.
    assert len({note["TORCHINDUCTOR_CACHE_DIR"] for note in by_level.values()}) == 3, by_level
    log = (tmp_path / "run" / "run.jsonl").read_text()
    environments = {
        line["name"]: line["values"]
        for line in map(json.loads, log.splitlines())
        if line["type"] == "environment"
    }
    assert environments["eager"]["cpu_capability"] == "AVX512"
    assert (
        environments["eager.avx2"]["cpu_capability"]
        == environments["compiled.avx2"]["cpu_capability"]
        == "AVX2"
    )


def test_kernels_of_another_level_are_compared_with_the_machines_own(tmp_path):
    case = tmp_path / "softmax.json"  # of what differs between levels by its last bits
    case.write_text(
        json.dumps(
            {
                "format": 1,
                "title": "softmax",
                "inputs": {
                    "x": {
                        "dtype": "float32",
                        "shape": [64, 1003],
                        "fill": {"normal": {}, "seed": 7},
                    }
                },
                "steps": [{"let": "y", "op": "_softmax", "args": ["%x", 1, False]}],
                "outputs": ["y"],
                "compare": {"y": "bits"},
            }
        )
    )
    done = lockstep("run", case, "--path", "kernels.*", "--out", tmp_path / "run")
    found = verdicts(tmp_path / "run")
    assert found["kernels.threads4"]["status"] == "conform", done.stdout  # rows are independent
    assert found["kernels.scalar"]["status"] == (
        "conform" if native == "DEFAULT" else "value_diverges"
    ), done.stdout
    assert "reference" not in found["kernels.scalar"]
    if native == "AVX512":
        assert found["kernels.avx512"]["status"] == "conform", done.stdout


def test_variants_are_paths_like_any_other():
    listed = json.loads(lockstep("list", CASE, "--path", "inductor.*", "--json").stdout)
    ids = (
        [each["id"] for each in listed]
        if isinstance(listed, list)
        else [each["id"] for each in listed["selected"]]
    )
    assert ids == [
        f"{CASE}@cpu/inductor.{name}" for name in ("avx2", "avx512", "scalar", "threads4")
    ]
    assert "inductor.avx2" in lockstep("list", "--paths").stdout
    assert (
        lockstep("check", ROOT / "runner" / "paths" / "inductor.json").stdout == "1 path: valid\n"
    )  # it is one of the suite's
    misspelt = lockstep("list", CASE, "--path", "inductor.avx3")
    assert misspelt.returncode == 2 and "inductor.avx2" in misspelt.stderr
