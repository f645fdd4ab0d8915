"""A vendor's own operators: a shared object that `--library` hands to both workers and to the
decoder."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import vendor_suite

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACTS = ROOT / "runner" / "python" / "lockstep" / "torch_facts.py"
SOURCE = """
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>
#include <cstdio>

namespace {
at::Tensor twice(const at::Tensor& x) { return x.add(x); }
at::Tensor twice_meta(const at::Tensor& x) { return at::empty_like(x); }
// Libraries do print when they are loaded: it must not get into the protocol.
const int said = std::puts("hello from the vendor");
}  // namespace

TORCH_LIBRARY(lockstep_test, m) { m.def("twice(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(lockstep_test, CPU, m) { m.impl("twice", twice); }
TORCH_LIBRARY_IMPL(lockstep_test, Meta, m) { m.impl("twice", twice_meta); }
"""
CASE = {
    "format": 1,
    "title": "an operator of a vendor's",
    "inputs": {"x": {"dtype": "float32", "shape": [3], "fill": {"arange": {"start": 1}}}},
    "steps": [
        {"let": "t", "op": "lockstep_test::twice", "args": ["%x"]},
        {"let": "y", "op": "add", "args": ["%t", 1]},
    ],
    "outputs": ["t", "y"],
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    facts = json.loads(subprocess.check_output([sys.executable, FACTS]))
    torch = pathlib.Path(facts["folder"])
    folder = tmp_path_factory.mktemp("library")
    (folder / "vendor.cpp").write_text(SOURCE)
    compiler = shutil.which("ccache")
    command = [
        *([compiler] if compiler else []),
        os.environ.get("CXX") or "g++",
        *"-std=c++20 -O0 -fPIC -w -I".split(),
        torch / "include",
        "-c",
        folder / "vendor.cpp",
        "-o",
        folder / "vendor.o",
    ]
    subprocess.run(command, check=True, timeout=300, cwd=folder)
    subprocess.run(
        [
            os.environ.get("CXX") or "g++",
            "-shared",
            folder / "vendor.o",
            "-L",
            torch / "lib",
            "-ltorch_cpu",
            "-lc10",
            "-o",
            folder / "vendor.so",
        ],
        check=True,
        timeout=300,
    )
    return folder / "vendor.so"


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    return vendor_suite.make(tmp_path_factory.mktemp("suite"), {"vendor": CASE}, ("workers",))


@pytest.fixture(scope="module")
def lockstep(suite):
    return vendor_suite.command(suite)


def record(directory):
    return json.loads((directory / "run.json").read_text())


@pytest.fixture(scope="module")
def ran(lockstep, library, tmp_path_factory):
    """What a run with the library says, and its folder."""
    folder = tmp_path_factory.mktemp("ran")
    words = "run vendor --path eager-python,aot_eager,inductor --library".split()
    return lockstep(*words, str(library), "--out", str(folder)), folder


def test_both_workers_execute_the_operator(library, ran):
    result, folder = ran
    assert result.returncode == 0, result.stdout + result.stderr
    found = {verdict["path"]: verdict for verdict in record(folder)["verdicts"]}
    assert {path: verdict["status"] for path, verdict in found.items()} == {
        "eager-python": "conform",
        "aot_eager": "conform",
        "inductor": "conform",
    }
    assert found["inductor"]["operators"] == ["lockstep_test::twice.default", "aten::add.Tensor"]
    assert found["inductor"]["proof"]["graphs"] == 1
    assert found["inductor"]["repro"].endswith(f"--library {library}")


def test_the_environment_names_the_library_and_its_content(lockstep, library, ran, tmp_path):
    other, out = tmp_path / "other.so", tmp_path / "out"
    other.write_bytes(library.read_bytes() + b"\0")
    words = "run vendor --path eager --library".split()
    assert lockstep(*words, str(other), "--out", str(out)).returncode == 0
    named = []
    for file, folder in ((library, ran[1]), (other, out)):
        named.append(record(folder)["environment"]["machine"]["library 0"])
        assert named[-1].startswith(str(file))
    assert named[0].split("(")[1] != named[1].split("(")[1]


def test_without_it_the_operator_is_unknown(lockstep, library, tmp_path):
    """The saboteur: what passes with the library must not pass without."""
    check = lockstep("check")
    assert check.returncode == 2
    assert (
        "unknown operator `lockstep_test::twice`" in check.stderr
        and "--library FILE" in check.stderr
    )
    assert lockstep("check", "--library", str(library)).returncode == 0
    assert (
        lockstep("run", "vendor", "--path", "eager-python", "--out", str(tmp_path)).returncode == 0
    )
    verdict = record(tmp_path)["verdicts"][0]
    assert (verdict["status"], "lockstep_test::twice" in verdict["reason"]) == ("unsupported", True)


def test_show_resolves_and_a_reproducer_loads_it(lockstep, library, tmp_path):
    assert "lockstep_test::twice" in lockstep("show", "vendor", "--library", str(library)).stdout
    script = tmp_path / "repro.py"
    made = lockstep("repro", "vendor@cpu/aot_eager", "--library", str(library), "--to", str(script))
    assert made.returncode == 0, made.stderr
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_library_of_no_use_is_named(lockstep, tmp_path):
    for command in (["run", "vendor"], ["check"], ["list"]):
        missing = lockstep(*command, "--library", "no-such.so")
        assert missing.returncode == 2
        assert (
            "found --library" in missing.stderr
            and "no-such.so, expected a file that exists" in missing.stderr
        )
    text = tmp_path / "text.so"
    text.write_text("no shared object\n")
    broken = lockstep("run", "vendor", "--library", str(text))
    assert broken.returncode == 3
    assert "cannot load a library" in broken.stderr and str(text) in broken.stderr


def test_the_doctor_tries_it(lockstep, library):
    assert (
        "the dump of their schemas is of this torch"
        in lockstep("doctor", "--library", str(library)).stdout
    )
    missing = lockstep("doctor", "--library", "no-such.so")
    assert missing.returncode == 3 and "no-such.so" in missing.stderr
