"""The names of torch's OpInfo database, and what aten may call them."""

import json
import pathlib
import subprocess
import sys
import types

import pytest

from lockstep_worker import opinfo


@pytest.mark.parametrize(
    "name, aten, names",
    [
        ("add", "add", ["add"]),
        ("linalg.norm", "linalg_norm", ["linalg_norm", "norm"]),
        ("nn.functional.relu", "relu", ["nn_functional_relu", "relu"]),
        ("special.i0e", "", ["i0e", "special_i0e"]),
        ("__rand__", "__rand__", ["__rand__", "and", "bitwise_and"]),
        ("T", "T", ["T", "numpy_T"]),
        ("torch.ops.aten._safe_softmax.default", "_safe_softmax", ["_safe_softmax"]),
    ],
)
def test_aten_has_several_names_for_an_entry(name, aten, names):
    found = opinfo.candidates(types.SimpleNamespace(name=name, aten_name=aten))
    assert [each.removeprefix("aten::") for each in found if each.startswith("aten::")] == names


def test_a_public_function_is_one_by_its_name():
    found = opinfo.candidates(
        types.SimpleNamespace(name="nn.functional.softsign", aten_name="softsign")
    )
    assert (
        "torch.nn.functional.softsign" in found and "torch.Tensor.nn.functional.softsign" in found
    )


def test_it_prints_the_names_or_why_not():
    done = subprocess.run(
        [sys.executable, "-m", "lockstep_worker", "opinfo"],
        input="{}",
        capture_output=True,
        text=True,
        timeout=120,
        cwd=pathlib.Path(opinfo.__file__).parents[1],
    )
    answer = json.loads(done.stdout)
    try:
        import expecttest  # noqa: F401
    except ImportError:
        assert "expecttest" in answer["error"]
    else:
        assert {"aten::linalg_norm", "aten::norm", "torch.linalg.norm"} <= {
            *answer["names"]["linalg.norm"]
        }
