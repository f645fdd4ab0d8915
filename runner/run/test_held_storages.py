"""Verdicts where tensors are compared on the device first, with the real workers and the memory of
a process for a device."""

import json
import os
import pathlib
import subprocess

import pytest
from bare_suite import ROOT, make_suite

BINARIES = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin"
#: Longer than a block: one output conforms, Inductor keeps more digits in the other.
CASE = {
    "format": 1,
    "title": "long",
    "inputs": {"x": {"dtype": "float32", "shape": [300, 400], "fill": {"arange": {"divide": 7}}}},
    "steps": [
        {"let": "y", "op": "add.Tensor", "args": ["%x", 1]},
        {"let": "h", "op": "to.dtype", "args": ["%x", "float16"]},
        {"let": "z", "op": "to.dtype", "args": ["%h", "float32"]},
    ],
    "outputs": ["y", "z"],
    "compare": {"y": "bits", "z": "bits"},
}
#: All blocks are the same: whoever believes it takes what was sent first for everything that comes
#: after.
LIAR = """
#include <cstring>
extern "C" const char* lockstep_device_digests_1(int, const void*, unsigned long bytes,
                                                 unsigned long* digests) {
  std::memset(digests, 0, (bytes + 65535) / 65536 * 16);
  return nullptr;
}
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """Verdicts of Inductor without digests, with them, and with those of a liar."""
    folder = tmp_path_factory.mktemp("known")
    (folder / "cases").mkdir()
    (folder / "cases" / "long.json").write_text(json.dumps(CASE))
    suite = make_suite(folder / "suite", folder / "cases")
    (suite / "runner" / "paths" / "inductor.json").write_text(
        (ROOT / "runner/paths/inductor.json")
        .read_text()
        .replace('"above": "aot_eager_decomp"', '"above": null')
    )
    (folder / "liar.cpp").write_text(LIAR)
    subprocess.run(
        [
            os.environ.get("CXX", "c++"),
            "-shared",
            "-fPIC",
            folder / "liar.cpp",
            "-o",
            folder / "liar.so",
        ],
        check=True,
    )
    result = {}
    for how, library in (
        ("none", ""),
        ("digests", f"cpu={BINARIES / 'lockstep-digests-host.so'}"),
        ("liar", f"cpu={folder / 'liar.so'}"),
    ):
        environment = {
            **os.environ,
            "LOCKSTEP_HOME": str(suite),
            "LOCKSTEP_DIGESTS": library,
            "LOCKSTEP_CACHE": os.environ.get("LOCKSTEP_CACHE") or str(ROOT / ".lockstep"),
        }
        told = subprocess.run(
            [BINARIES / "lockstep", "run", "long", "--path", "inductor", "--out", folder / how],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert told.returncode in (0, 1), told.stderr
        (result[how],) = json.loads((folder / how / "run.json").read_text())["verdicts"]
    return result


def test_the_verdict_is_the_same(found):
    assert found["none"]["status"] == "value_diverges"
    for key in ("status", "reason", "grade", "outputs", "differences"):
        assert found["digests"].get(key) == found["none"].get(key), key


def test_it_hangs_on_the_digests(found):
    """What makes the test above one that can fail: tensors do take that way."""
    assert found["liar"] != found["none"] and found["liar"].get("outputs") != found["none"].get(
        "outputs"
    )
