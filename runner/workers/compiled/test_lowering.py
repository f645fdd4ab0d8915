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


def opened(function, *tensors):
    count = iter(range(100))
    names = [f"i{number}" for number in range(len(tensors))]
    given = dict(zip(names, tensors, strict=True))
    return lower(function, given, lambda stem: f"t_{next(count)}", kernels=True)


def test_operators_of_python_are_what_their_kernels_call():
    """Those of torch, whose kernels call others, and those of somebody's module."""

    @torch.library.custom_op("lockstep_lowering::halves", mutates_args=())
    def halves(x: torch.Tensor, by: float) -> torch.Tensor:
        return x.half().float() * by

    def half(x):
        return torch.ops.lockstep_lowering.halves(x, 2.0)

    names = [step["op"] for step in opened(half, torch.rand(3)).steps]
    assert names == ["aten::to.dtype", "aten::to.dtype", "aten::mul.Tensor"]
    with pytest.raises(NotLowered, match="no operator of aten"):
        lowered(half, torch.rand(3))
    convert = torch.ops.prims.convert_element_type.default
    steps = opened(lambda x: convert(x, torch.float64), torch.rand(3)).steps
    assert {step["op"].partition("::")[0] for step in steps} == {"aten"}
    composite = torch.library.Library("lockstep_lowering", "FRAGMENT")
    composite.define("twice(Tensor x) -> Tensor")
    composite.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
    found = opened(lambda x: torch.ops.lockstep_lowering.twice(x), torch.rand(3))
    assert [step["op"] for step in found.steps] == ["aten::add.Tensor"]


def test_a_program_is_lowered_in_place(tmp_path, cache):
    """Results by their names, inside of contexts, written inputs, several calls; what is not
    lowered stays, with the reason."""
    worker = Worker(tmp_path, cache=cache)
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
