"""`run --save-tensors`: what numpy reads is what the tensors hold."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest
from bare_suite import path_file

BINARY_DIR = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"])
CORE_TESTS = pathlib.Path(os.environ.get("LOCKSTEP_CORE_TESTS", ""))
FAKE = pathlib.Path(__file__).resolve().parents[1] / "engine" / "testdata" / "fake_worker.py"

#: Dtypes that numpy has by torch's name; all others are integers with the same bits (or, quantized,
#: the integers).
NUMPY = {
    "bool": "bool",
    **{
        name: name
        for name in """
            uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64
            complex128
        """.split()
    },
}


@pytest.mark.skipif(not CORE_TESTS.is_file(), reason="LOCKSTEP_CORE_TESTS names no executable")
def test_every_dtype_is_read_back(tmp_path):
    """A view of 0 to 5 (complex: 2k + (2k+1)j) with shape [3, 2] and strides [1, 3]."""
    subprocess.run(
        [CORE_TESTS, "--gtest_filter=Npy.WritesFilesForNumpy"],
        check=True,
        capture_output=True,
        env={**os.environ, "LOCKSTEP_NPY_DIR": str(tmp_path)},
    )
    files = {file.name.split(".")[0]: file for file in tmp_path.iterdir()}
    assert set(NUMPY) < set(files)
    for name, file in files.items():
        array = numpy.load(file)
        assert array.shape == (3, 2), name
        if name in NUMPY:
            assert file.name == f"{name}.npy"
            assert array.dtype == numpy.dtype(NUMPY[name]), name
            flat = numpy.arange(6)
            flat = (
                flat % 2 == 1
                if name == "bool"
                else 2 * flat + (2 * flat + 1) * 1j
                if "complex" in name
                else flat
            )
            assert (array == numpy.asarray(flat, dtype=array.dtype).reshape(2, 3).T).all(), name
        else:
            assert file.name in (f"{name}.{name}-bits.npy", f"{name}.{name}-ints.npy"), name
            assert array.dtype.kind in "ui", name
    bits = numpy.load(files["bfloat16"]).astype(numpy.uint32) << 16
    assert (bits.view(numpy.float32) == numpy.arange(6).reshape(2, 3).T).all()


@pytest.mark.parametrize("keep", [True, False])
def test_a_run_keeps_what_does_not_conform(tmp_path, keep):
    """The fake worker flips a bit in the middle of x."""
    suite = tmp_path / "suite"
    for folder in ("cases/bugs", "expected", "runner/paths"):
        (suite / folder).mkdir(parents=True)
    (suite / "cases" / "bugs" / "1.json").write_text(
        json.dumps(
            {
                "format": 1,
                "title": "passes its input on",
                "inputs": {
                    "x": {"dtype": "float32", "shape": [2, 3], "fill": {"arange": {"start": 1}}}
                },
                "steps": [{"let": "y", "op": "clone.default", "args": ["%x"]}],
                "outputs": ["y"],
            }
        )
    )
    files = [
        path_file(tmp_path, name, worker=[sys.executable, str(FAKE)])
        for name in ("flip", "conform")
    ]
    eager = tmp_path / "eager"
    eager.write_text(f"#!/bin/sh\nexec {sys.executable} {FAKE}\n")
    eager.chmod(0o755)
    out = tmp_path / "run"
    subprocess.run(
        [
            BINARY_DIR / "bin" / "lockstep",
            *"run --level all --path * --out".split(),
            out,
            *[word for file in files for word in ("--path-file", file)],
            *(["--save-tensors"] if keep else []),
        ],
        env={
            **os.environ,
            "LOCKSTEP_HOME": str(suite),
            "LOCKSTEP_EAGER": str(eager),
            "LOCKSTEP_CACHE": str(tmp_path / "cache"),
        },
        capture_output=True,
        timeout=120,
    )
    record = json.loads((out / "run.json").read_text())
    verdicts = {verdict["path"]: verdict for verdict in record["verdicts"]}
    assert verdicts["conform"]["status"] == "conform"
    assert verdicts["flip"]["status"] == "value_diverges"
    (y,) = [output for output in verdicts["flip"]["outputs"] if output["name"] == "y"]
    assert y["heat"]["differing"] == [0, 0, 0, 1, 0, 0]
    if not keep:
        assert "tensors" not in y and not (out / "tensors").exists()
        return
    tensors = {file.split(".")[-2]: numpy.load(out / file) for file in y["tensors"]}
    expected = numpy.arange(1, 7, dtype=numpy.float32).reshape(2, 3)
    assert (tensors["eager"] == expected).all()
    assert (
        tensors["compiled"].view(numpy.uint32) ^ expected.view(numpy.uint32)
        == [[0, 0, 0], [1, 0, 0]]
    ).all()
    kept = {str(file.relative_to(out)) for file in (out / "tensors").rglob("*.npy")}
    assert kept >= set(y["tensors"]) and all("/flip/" in file for file in kept)
