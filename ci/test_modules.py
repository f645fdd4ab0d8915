"""A vendor's own operators that are written in Python: a module that `--module` hands to Python, or
that a path imports."""

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest
import vendor_suite

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULE = """
import torch

print("hello from the vendor")  # must not get into the protocol


@torch.library.custom_op("lockstep_py::halves", mutates_args=())
def halves(x: torch.Tensor, by: float) -> torch.Tensor:
    return x.half().float() * by


@halves.register_fake
def _(x, by):
    return torch.empty_like(x)
"""
CASE: dict[str, Any] = {
    "format": 1,
    "title": "an operator of a vendor's Python",
    "inputs": {"x": {"dtype": "float32", "shape": [5], "fill": {"normal": {}, "seed": 3}}},
    "steps": [
        {"let": "h", "op": "lockstep_py::halves", "args": ["%x", 2.0]},
        {"let": "y", "op": "add", "args": ["%h", 1]},
    ],
    "outputs": ["h", "y"],
}
PRIMS: dict[str, Any] = {
    **CASE,
    "title": "an operator that torch has in Python alone",
    "steps": [
        {"let": "h", "op": "prims::convert_element_type", "args": ["%x", {"dtype": "float64"}]},
        {"let": "y", "op": "prims::sin.default", "args": ["%h"]},
    ],
}


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    cases = {"vendor": CASE, "prims": PRIMS}
    root = vendor_suite.make(tmp_path_factory.mktemp("suite"), cases, ("workers", "explain"))
    (root / "lib").mkdir()
    (root / "lib" / "vendor_ops.py").write_text(MODULE)
    path = {
        "format": 2,
        "name": "mine",
        "title": "a path whose module brings an operator",
        "contract": "values",
        "worker": "compiled",
        "backend": "inductor",
        "import": ["vendor_ops"],
        "environment": {"PYTHONPATH": str(root / "lib")},
        "devices": ["cpu"],
    }
    (root / "mine.json").write_text(json.dumps(path))
    return root


@pytest.fixture(scope="module")
def lockstep(suite):
    return vendor_suite.command(suite)


def found(directory):
    record = json.loads((directory / "run.json").read_text())
    return {verdict["path"]: verdict for verdict in record["verdicts"]}


def test_a_file_brings_an_operator(lockstep, suite, tmp_path):
    words = "run vendor --path aot_eager,inductor --module lib/vendor_ops.py --out"
    result = lockstep(*words.split(), str(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr
    verdicts = found(tmp_path)
    assert {path: each["status"] for path, each in verdicts.items()} == dict.fromkeys(
        ("aot_eager", "inductor"), "conform"
    )
    inductor = verdicts["inductor"]
    assert inductor["operators"] == ["lockstep_py::halves.default", "aten::add.Tensor"]
    assert inductor["repro"].endswith(f"--module {suite / 'lib/vendor_ops.py'}")
    machine = json.loads((tmp_path / "run.json").read_text())["environment"]["machine"]
    assert machine["module 0"].startswith(str(suite / "lib/vendor_ops.py"))


def test_prims_need_nothing(lockstep, tmp_path):
    result = lockstep(*"run prims --path aot_eager,inductor --out".split(), tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    assert {each["status"] for each in found(tmp_path).values()} == {"conform"}
    shown = lockstep("show", "prims").stdout
    assert "prims::convert_element_type.default(x, " in shown and "prims::sin.default(h)" in shown


def test_a_path_brings_an_operator(lockstep, tmp_path):
    """Its module alone knows the operator, for eager too."""
    result = lockstep(*"run vendor --path mine --path-file mine.json --out".split(), str(tmp_path))
    assert result.returncode == 0, result.stdout + result.stderr
    assert found(tmp_path)["mine"]["status"] == "conform"
    assert lockstep("check", "--path-file", "mine.json").returncode == 0
    assert lockstep("check", "mine.json", "cases/vendor.json").returncode == 0


def test_without_them_the_operator_is_unknown(lockstep, tmp_path):
    check = lockstep("check", "cases/vendor.json")
    assert check.returncode == 2
    assert "cases/vendor.json:1:" in check.stderr
    assert "unknown operator `lockstep_py::halves`" in check.stderr
    assert "--module NAME" in check.stderr and "--library FILE" in check.stderr
    lockstep(*"run vendor --path eager-python --out".split(), str(tmp_path))
    verdict = found(tmp_path)["eager-python"]
    assert verdict["status"] == "unsupported"
    assert "lockstep_py::halves" in verdict["reason"] and "--module NAME" in verdict["reason"]


def test_a_misspelling_is_not_the_module_s(lockstep, suite):
    wrong = {**CASE, "steps": [{**CASE["steps"][0], "op": "lockstep_py::halve"}, CASE["steps"][1]]}
    (suite / "wrong.json").write_text(json.dumps(wrong))
    check = lockstep("check", "wrong.json", "--module", "lib/vendor_ops.py")
    assert check.returncode == 2
    assert "unknown operator `lockstep_py::halve`" in check.stderr
    assert "`lockstep_py::halves`" in check.stderr, "what is near"


def test_a_reproducer_imports_it(lockstep, tmp_path):
    script = tmp_path / "repro.py"
    words = "repro vendor@cpu/aot_eager --module lib/vendor_ops.py --to".split()
    made = lockstep(*words, str(script))
    assert made.returncode == 0, made.stderr
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_module_of_no_use_is_named(lockstep, suite):
    missing = lockstep("check", "--module", "no-such.py")
    assert missing.returncode == 2
    assert "found --module" in missing.stderr and "expected a file that exists" in missing.stderr
    broken = suite / "broken.py"
    broken.write_text("import no_such_module_anywhere\n")
    check = lockstep("check", "cases/vendor.json", "--module", str(broken))
    assert check.returncode == 2 and "no_such_module_anywhere" in check.stderr
    run = lockstep("run", "vendor", "--path", "eager-python", "--module", str(broken))
    assert run.returncode == 2, run.stdout + run.stderr
    assert "broken.py" in run.stderr and "no_such_module_anywhere" in run.stderr
    others = lockstep("run", "prims", "--path", "aot_eager", "--module", str(broken))
    assert others.returncode == 3, others.stdout + others.stderr
    assert "broken.py" in others.stdout and "no_such_module_anywhere" in others.stdout


def test_golds_and_explain_know_what_it_calls(lockstep, suite):
    """What its kernel calls has golds; each step is told."""
    steps = [
        {"let": "m", "op": "mul", "args": ["%x", 1.37]},
        {"let": "h", "op": "prims::convert_element_type", "args": ["%m", {"dtype": "float16"}]},
        {"let": "y", "op": "prims::convert_element_type", "args": ["%h", {"dtype": "float32"}]},
    ]
    (suite / "cast.json").write_text(json.dumps({**CASE, "steps": steps, "outputs": ["y"]}))
    done = lockstep("explain", "cast.json", "--path", "inductor")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "lets it pass, by `no_worse(1)`" in done.stdout, done.stdout
    assert "float16 after step h" in done.stdout, done.stdout
    whole = {**CASE, "compare": {"h": "bits", "y": "bits"}}
    (suite / "whole.json").write_text(json.dumps(whole))
    words = ["explain", "whole.json", "--path", "inductor", "--module", "lib/vendor_ops.py"]
    done = lockstep(*words)
    assert done.returncode == 0 and "conform" in done.stdout, done.stdout + done.stderr
