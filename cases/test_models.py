"""The models: every architecture and way has its files, within limits and with the notice of whose
it is; captures in several dtypes become one case only where they say the same; and every
architecture has its distinct calls."""

import collections
import json
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
HOME = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(HOME / "ci"), str(HOME / "runner" / "python")]

from models import calls, dtypes, write, zoo  # noqa: E402
from models.capture import FOLDER, MOST_BYTES  # noqa: E402

from lockstep.capturing import sweeps  # noqa: E402

FILES = {file.stem: file for file in FOLDER.glob("*.json")}
MODELS = {stem: json.loads(each.read_text()) for stem, each in FILES.items()}
CALLS = {file.stem: json.loads(file.read_text()) for file in calls.FOLDER.glob("*.json")}


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
    assert "Apache License 2.0" in MODELS[name]["comment"]
    assert "file" not in str(MODELS[name]["inputs"])


def test_a_model_that_generates_is_called_with_other_shapes():
    for name, each in zoo.architectures().items():
        if zoo.GENERATION in each.ways:
            made = [case.get("calls", []) for case in of(name, zoo.GENERATION)]
            assert max(map(len, made)) >= 3, name


def spelled(made, inputs):
    """A call with what it takes in the place of names."""
    return re.sub(r'"%(\w+)"', lambda name: json.dumps(inputs[name[1]]), json.dumps(made))


def test_distinct_calls_are_in_files_that_ids_have_room_for():
    assert set(CALLS) == {*calls.FILES.values(), "pointwise", "others"}
    seen: set[str] = set()
    for name, case in CALLS.items():
        text = (calls.FOLDER / f"{name}.json").read_text()
        made = case["sweep"]["calls"]
        assert sweeps.small(text, len(made), MOST_BYTES)
        assert "Apache License 2.0" in case["comment"]
        assert "file" not in str(case["inputs"])
        assert max(len(sweeps.in_id(each)) for each in made) <= sweeps.MOST_OF_A_CALL
        whole = {spelled(each, case["inputs"]) for each in made}
        assert len(whole) == len(made) and not whole & seen
        seen |= whole
    assert all(f'"{each}"' in str(seen) for each in ("float32", "bfloat16", "float16"))


def test_every_architecture_makes_calls_and_every_call_is_somebodys():
    rows = [line.split("\t") for line in calls.TABLE.read_text().splitlines()]
    listed = [(file, call) for file, call, _, _ in rows]
    in_files = [
        (name, sweeps.in_id(each)) for name in CALLS for each in CALLS[name]["sweep"]["calls"]
    ]
    assert sorted(listed) == sorted(in_files)
    made = dict.fromkeys(zoo.architectures(), 0)
    for *_, count, models in rows:
        assert int(count) >= 1
        for each in models.split(" "):
            name, times = each.split(":")
            made[name] += int(times)
    assert min(made.values()) > 50, made


def call(op, shape, **more):
    strides = [1, *shape[:0:-1]][::-1] if len(shape) < 3 else [shape[1] * shape[2], shape[2], 1]
    taken = {"dtype": "float32", "shape": shape, "strides": strides} | more
    return {"call": {"op": op, "args": [{"ref": "t0"}], "kwargs": {}}, "inputs": {"t0": taken}}


def test_calls_that_differ_only_in_sizes_are_one():
    exp = [call("aten::exp.default", shape) for shape in ([3, 5], [2, 9, 4], [7])]
    others = [
        call("aten::exp.default", []),
        call("aten::exp.default", [3, 5], strides=[1, 3]),
        call("aten::exp.default", [3, 5], strides=[0, 1]),
        call("aten::exp.default", [3, 5], strides=[10, 2]),
        call("aten::exp.default", [3, 5], dtype="bfloat16"),
        call("aten::sin.default", [3, 5]),
    ]
    for at, each in enumerate([*exp, *others], 1):
        each["models"] = collections.Counter(gpt2=at)
    found = {calls._key(each): each for each in calls.folded([*exp, *others])}
    assert len(found) == 1 + len(others)
    # It is the most frequent one, with how often all of them are made.
    assert found[calls._key(exp[2])]["models"] == {"gpt2": 1 + 2 + 3}
    assert found[calls._key(exp[2])]["folded"] == 3


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
