"""The names of torch's OpInfo database, and what aten may call them."""

import json
import pathlib
import subprocess
import sys
import types

import pytest

from lockstep_worker import opinfo


@pytest.mark.parametrize("name, aten, names", [
    ("add", "add", ["add"]),
    ("linalg.norm", "linalg_norm", ["linalg_norm", "norm"]),
    ("nn.functional.relu", "relu", ["nn_functional_relu", "relu"]),
    ("special.i0e", "", ["i0e", "special_i0e"]),
])
def test_aten_has_several_names_for_an_entry(name, aten, names):
    assert opinfo.candidates(types.SimpleNamespace(name=name, aten_name=aten)) == names


def test_it_prints_the_names_or_why_not():
    done = subprocess.run([sys.executable, "-m", "lockstep_worker", "opinfo"], input="{}", capture_output=True, text=True, timeout=120,
                          cwd=pathlib.Path(opinfo.__file__).parents[1])
    answer = json.loads(done.stdout)
    try:
        import expecttest  # noqa: F401
    except ImportError:
        assert "expecttest" in answer["error"]
    else:
        assert answer["names"]["linalg.norm"] == ["linalg_norm", "norm"]
