"""What a case makes in its program is on the device of its instance: factories say so, for without
it they make CPU tensors."""

import fnmatch
import json
import os
from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parent

#: Operators that take a device and no tensor.
FACTORIES = set(
    """
        _efficientzerotensor arange bartlett_window blackman_window empty empty_permuted
        empty_strided eye fft_fftfreq fft_rfftfreq full hamming_window hann_window kaiser_window
        linspace logspace normal.float_float ones rand randint randn randperm range scalar_tensor
        tril_indices triu_indices zeros
    """.split()
)
ELSEWHERE = ("cuda", "cuda:0", "xpu:0", "mps", "a-vendor's:1")


def runs_elsewhere(case):
    globs = case.get("only", {}).get("devices", ["*"])
    asked = [glob for glob in globs if not glob.startswith("!")] or ["*"]
    excluded = [glob[1:] for glob in globs if glob.startswith("!")]
    return any(
        any(fnmatch.fnmatchcase(device, glob) for glob in asked)
        and not any(fnmatch.fnmatchcase(device, glob) for glob in excluded)
        for device in ELSEWHERE
    )


def operators(part):
    """Every step of a case that names an operator, wherever it is."""
    if isinstance(part, dict):
        if isinstance(part.get("op"), str):
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from operators(inner)


def is_factory(op):
    name = op.removeprefix("aten::")
    return name in FACTORIES or name.split(".")[0] in FACTORIES and not name.endswith("out")


def without_a_device(case):
    """Of the program alone: what `prepare` makes is carried to the device, wherever it was
    drawn."""
    if not runs_elsewhere(case):
        return []
    return [
        step["op"]
        for step in operators(case.get("steps", []))
        if is_factory(step["op"]) and "device" not in step.get("kwargs", {})
    ]


@pytest.mark.parametrize(
    "file",
    [file for folder in ("bugs", "format") for file in sorted((CASES / folder).glob("*.json"))],
    ids=lambda file: f"{file.parent.name}/{file.stem}",
)
def test_factories_name_the_device(file):
    assert without_a_device(json.loads(file.read_text())) == [], (
        'write "kwargs": {"device": "$device"}'
    )


def test_it_finds_what_lacks_one():
    bare, given = (
        {"op": "zeros", "args": [[2]]},
        {"op": "zeros", "args": [[2]], "kwargs": {"device": "$device"}},
    )
    assert (
        without_a_device({"steps": [bare, given, {"with": {"grad": False}, "steps": [bare]}]})
        == ["zeros"] * 2
    )
    assert without_a_device({"steps": [], "prepare": {"steps": [bare]}}) == []
    assert without_a_device({"steps": [bare], "only": {"devices": ["cpu"]}}) == []
    assert without_a_device({"steps": [bare], "only": {"devices": ["!cuda*"]}}) == ["zeros"]
    assert (
        without_a_device(
            {
                "steps": [
                    {"op": "normal.Tensor_float", "args": ["%x"]},
                    {"op": "zeros_like", "args": ["%x"]},
                ]
            }
        )
        == []
    )
    assert without_a_device({"steps": [{"op": "aten::randint.low", "args": [0, 2, [1]]}]}) == [
        "aten::randint.low"
    ]


def test_the_list_is_that_of_torch():
    dump = Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "schemas.json"
    if not dump.exists():
        pytest.skip("no dump of torch's operators")
    found = {
        f"{name.removeprefix('aten::')}.{overload['overload']}"
        for name, overloads in json.loads(dump.read_text())["operators"].items()
        if name.startswith("aten::")
        for overload in overloads
        if any(argument["name"] == "device" for argument in overload["arguments"])
        and not any("Tensor" in argument["type"] for argument in overload["arguments"])
    }
    private = {name for name in found if name.startswith("_")}
    refused = {
        "from_file.default",
        "sparse_coo_tensor.size",
    }  # takes a file name; makes no strided tensor
    assert {name for name in found - private - refused if not is_factory(name)} == set()
