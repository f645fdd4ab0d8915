"""Calls of public functions as the operators that they make."""

import pytest
import torch

from conversation import Worker, pack, path, view
from lockstep_worker.lowering import NotLowered, lower

X = {"ref": "x"}


def lowered(function, *tensors):
    names = [f"i{number}" for number in range(len(tensors))]
    return lower(function, dict(zip(names, tensors, strict=True)), lambda stem: f"t_{stem}")


def test_composites_stay_whole():
    found = lowered(
        lambda x, w: torch.nn.functional.linear(x, w), torch.ones(2, 3), torch.ones(4, 3)
    )
    assert [step["op"] for step in found.steps] == ["aten::linear.default"]
    assert found.steps[0]["args"] == [{"ref": "i0"}, {"ref": "i1"}]
    assert found.results == {"ref": found.steps[0]["let"][0]}
    found = lowered(lambda x: torch.nn.functional.layer_norm(x, [3], eps=0.5), torch.rand(2, 3))
    assert found.steps[0]["op"] == "aten::layer_norm.default"
    assert found.steps[0]["args"][4] == {"float": "0x1.0000000000000p-1"}


@pytest.mark.parametrize(
    "function, why",
    [
        (lambda x: x * 2 if x.sum() > 0 else x, "cannot be traced"),
        (lambda x: torch.nn.functional.dropout(x, 0.5), "draws random numbers"),
        (lambda x: x + torch.tensor([1.0, 2, 3]), "tensors of its own"),
        (lambda x: x.shape[0], "no tensor"),
    ],
)
def test_what_is_not_lowered_says_why(function, why):
    with pytest.raises(NotLowered, match=why):
        lowered(function, torch.ones(3))


def test_a_program_is_lowered_in_place(tmp_path):
    """Results by their names, inside of contexts, written inputs, several calls; what is not
    lowered stays, with the reason."""
    worker = Worker(tmp_path)
    program = {
        "inputs": ["x"],
        "outputs": ["y", "z", "w"],
        "steps": [
            {
                "let": [],
                "call": "torch.nn.functional.relu",
                "args": [X],
                "kwargs": {"inplace": True},
            },
            {
                "with": {"grad": False},
                "steps": [{"let": ["y"], "call": "torch.nn.functional.gelu", "args": [X]}],
            },
            {"let": ["z", None], "call": "torch.topk", "args": [X, 1]},
            {"let": ["w"], "call": "torch.bernoulli", "args": [{"ref": "y"}]},
        ],
    }
    data = pack([0.5, -1.0], "f"), pack([0.25, 0.5, 0.75], "f")
    calls = [{"x": view(0, [2])}, {"x": view(1, [3])}]
    found = worker.run(program, calls, data, path("eager-python"), mode="lower").data["lowered"]
    relu, block, topk, draw = found["steps"]
    assert relu["op"] == "aten::relu_.default" and relu["args"] == [X]
    (gelu,) = block["steps"]
    assert gelu == {"let": ["y"], "op": "aten::gelu.default", "args": [X], "kwargs": {}}
    assert topk["op"] == "aten::topk.default" and topk["let"][0] == "z" and len(topk["let"]) == 2
    assert draw["call"] == "torch.bernoulli" and draw["not_lowered"] == "it draws random numbers"
    worker.stop()
