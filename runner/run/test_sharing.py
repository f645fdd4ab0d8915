"""Compilations that are shared, with the real workers: the verdicts are those of every instance
alone."""

import json
import os
import pathlib
import subprocess

import pytest
from test_sabotage import ROOT, path_file

#: Operator → what it does on Inductor with torch's own saboteur of relu in force, on float16.
OPERATORS = {
    "abs": "conform",
    "bitwise_not": "unsupported",
    "ceil": "conform",
    "neg": "conform",
    "relu": "internal_error",
    "softshrink": None,
    "sqrt": "conform",
}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """Verdicts by operator and path, shared and alone."""
    folder = tmp_path_factory.mktemp("sharing")
    files = [
        path_file(
            folder,
            name,
            backend="inductor",
            contract="values",
            config={"torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY": bug},
        )
        for name, bug in (("spoilt", "compile_error"), ("wrong", "accuracy"))
    ]
    environment = {
        **os.environ,
        "LOCKSTEP_HOME": str(ROOT),
        "LOCKSTEP_CACHE": os.environ.get("LOCKSTEP_CACHE") or str(ROOT / ".lockstep"),
    }
    found = {}
    for how in ((), ("--alone",)):
        out = folder / ("alone" if how else "shared")
        result = subprocess.run(
            [
                pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep",
                "run",
                *(f"sweeps/unary-16[op={name},dtype=float16]@cpu" for name in OPERATORS),
                *"--path inductor --path spoilt --path wrong".split(),
                *(word for file in files for word in ("--path-file", str(file))),
                *"--no-expectations -j 2 --out".split(),
                str(out),
                *how,
            ],
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert result.returncode in (0, 1), result.stderr
        for verdict in json.loads((out / "run.json").read_text())["verdicts"]:
            found[verdict["instance"].split("op=")[1].split(",")[0], verdict["path"], out.name] = (
                verdict
            )
    return found


@pytest.mark.parametrize("path", ["inductor", "spoilt", "wrong"])
@pytest.mark.parametrize("name", OPERATORS)
def test_the_verdict_is_that_of_the_instance_alone(verdicts, name, path):
    shared, alone = (verdicts[name, path, how] for how in ("shared", "alone"))
    for key in ("status", "reason", "grade", "outputs"):
        assert shared.get(key) == alone.get(key), key
    assert "shared" not in alone
    # What does not conform in a graph of many was executed again, alone.
    assert (shared.get("shared", 0) > 0) == (shared["status"] == "conform"), shared


@pytest.mark.parametrize(
    "name, status", [(name, status) for name, status in OPERATORS.items() if status]
)
def test_a_graph_that_does_not_compile_is_halved_until_the_guilty_is_alone(verdicts, name, status):
    assert verdicts[name, "spoilt", "shared"]["status"] == status


def test_a_graph_holds_all_that_eager_computes(verdicts):
    assert (
        verdicts["abs", "inductor", "shared"]["shared"] == len(OPERATORS) - 2
    )  # itself, and what eager refuses


def test_a_pointwise_verdict_shows_inputs_and_distance_from_the_truth(verdicts):
    conforms = verdicts["sqrt", "inductor", "shared"]["outputs"][0]
    assert {row["inputs"] for row in conforms["accuracy"]} == {"normal", "subnormal", "special"}
    assert all(row.get("eager", 0) <= 0.5 for row in conforms["accuracy"]), conforms
    differs = verdicts["relu", "wrong", "shared"]  # torch's own saboteur computes relu(x) + 1
    assert differs["status"] in ("value_diverges", "nonfinite_diverges"), differs
    output = differs["outputs"][0]
    assert output["first"][0]["inputs"][0].startswith("x = "), differs
    assert {row["inputs"] for row in output["accuracy"]} == {
        "normal",
        "subnormal",
        "special",
        "differing",
    }, differs
