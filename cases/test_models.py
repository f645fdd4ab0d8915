"""The models: every architecture and way has its files, within limits and with the notice of whose
it is; and captures in several dtypes become one case only where they say the same."""

import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
HOME = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HOME / "ci"), str(HOME / "runner" / "python")]

from models import dtypes, write, zoo  # noqa: E402
from models.capture import FOLDER, MOST_BYTES  # noqa: E402

FILES = {file.stem: file for file in FOLDER.glob("*.json")}
MODELS = {stem: json.loads(each.read_text()) for stem, each in FILES.items() if "calls" not in stem}


def of(name, way):
    """The cases of an architecture that is used in a way."""
    wanted = name if way == zoo.FORWARD else f"{name}-{way}"
    ends = ("", *(f"-{each}" for each in (*zoo.architectures()[name].dtypes, 2, 3)))
    return [MODELS[f"{wanted}{end}"] for end in ends if f"{wanted}{end}" in MODELS]


def test_every_architecture_has_its_files_and_no_file_is_nobodys():
    found = []
    for name, each in zoo.architectures().items():
        for way in each.ways:
            assert of(name, way), f"no {way} of {name}: run python ci/model_cases.py {name}"
            found += of(name, way)
    assert len(found) == len(MODELS)
    ways = [way for each in zoo.architectures().values() for way in each.ways]
    least = {zoo.FORWARD: 24, zoo.TRAINING: 12, zoo.AUTOCAST: 3, zoo.GENERATION: 3}
    assert all(ways.count(way) >= count for way, count in least.items())


def test_every_dtype_of_an_architecture_is_asked():
    for name, each in zoo.architectures().items():
        asked = [str(case.get("matrix", case["inputs"])) for case in of(name, zoo.FORWARD)]
        assert all(any(dtype in text for text in asked) for dtype in each.dtypes), name


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_small_and_says_whose_the_architecture_is(name):
    assert FILES[name].stat().st_size <= MOST_BYTES
    if name in MODELS:
        assert "Apache License 2.0" in MODELS[name]["comment"]
        assert "file" not in str(MODELS[name]["inputs"])


def test_a_model_that_generates_is_called_with_other_shapes():
    for name, each in zoo.architectures().items():
        if zoo.GENERATION in each.ways:
            calls = [case.get("calls", []) for case in of(name, zoo.GENERATION)]
            assert max(map(len, calls)) >= 3, name


def program(dtype, cast, number=2, used="%x"):
    return {
        "tags": [],
        "inputs": {"x": {"dtype": dtype, "shape": [2], "fill": {"normal": {"std": number}}}},
        "steps": [
            {"let": "h", "op": "to.dtype", "args": ["%x", "float32"]},
            {"let": "y", "op": "mul", "args": [used, number]},
            cast,
        ],
        "outputs": ["z"],
    }


def test_dtypes_that_differ_in_nothing_else_are_one_case():
    def back(dtype):
        return {"let": "z", "op": "to.dtype", "args": ["%y", dtype]}

    whole = {each: program(each, back(each)) for each in ("float32", "float16")}
    made = dtypes.merged(whole)
    assert list(made) == ["tags", "matrix", "inputs", "steps", "outputs"]
    assert made["matrix"] == {"dtype": ["float32", "float16"]}
    assert made["inputs"]["x"]["dtype"] == "$dtype" and made["steps"][2]["args"][1] == "$dtype"
    # A number that differs, and a name of what a cast leaves as it is.
    whole["float32"] = program("float32", back("float32"), 3, "%h")
    made = dtypes.merged(whole)
    assert made["matrix"]["dtype"][0] == {"is": "float32", "name": "float32", "n0": 3}
    assert made["steps"][1]["args"] == ["%x", "$dtype.n0"]


def test_dtypes_that_differ_in_a_step_are_two_cases():
    whole = {
        each: program(each, {"let": "z", "op": op, "args": ["%y"]})
        for each, op in (("float32", "exp"), ("float16", "sin"))
    }
    with pytest.raises(dtypes.Differ, match="exp"):
        dtypes.merged(whole)
    assert list(write._together("m", whole)) == ["m-float32", "m-float16"]
