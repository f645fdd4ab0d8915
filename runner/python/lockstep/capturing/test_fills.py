"""What matters of a tensor's elements, as a fill, and values that lie in files."""

import hashlib
import json
import math

import pytest
import torch

from lockstep.capturing import cases, tensors

SPECIAL = torch.tensor([1.5, math.nan, -0.25, math.inf, 0.75, -math.inf, 3.5, -0.0] * 4)


@pytest.mark.parametrize(
    "tensor, expected",
    [
        (torch.full((5,), 2.5), {"fill": {"constant": 2.5}}),
        (torch.arange(3, 30, 3), {"fill": {"arange": {"start": 3, "step": 3}}}),
        (torch.tensor([3, 1, 0, 2]), {"fill": {"permutation": {}}}),
        (torch.tensor([[2, 0, 1], [0, 2, 1]]), {"fill": {"permutation": {"block": 3}}}),
        (torch.tensor([7, 9, 7, 12]), {"fill": {"integers": {"low": 7, "high": 13}}}),
        (torch.tensor([5, -(1 << 63)]), {"fill": {"integers": {"low": -(1 << 53), "high": 6}}}),
        (torch.tensor([True, False, False, True]), {"fill": {"mask": {"share": 0.5}}}),
        (torch.tensor([1.0, 0.0, 0.0, 0.0]), {"fill": {"mask": {"share": 0.25}}}),
        (torch.ones(3, dtype=torch.bool), {"fill": {"constant": 1}}),
        (torch.zeros(0), {"fill": {"constant": 0}}),
        (torch.tensor([0.0, -0.0, 0.0, 0.0]), {"fill": {"constant": 0.0}, "except": {"-0.0": [1]}}),
        (torch.tensor([math.nan] * 4), {"fill": None}),
        (torch.tensor([1.0, 2.0, -math.inf, -math.inf]), {"fill": None}),
    ],
)
def test_what_a_fill_keeps(tensor, expected):
    last = tensor.shape[-1] if tensor.dim() > 1 else 0
    assert tensors.fill_of(tensor.reshape(-1), last) == expected


def test_special_values_stay_in_place():
    found = tensors.fill_of(SPECIAL)
    assert found["except"] == {
        "nan": [1, 9, 17, 25], "inf": [3, 11, 19, 27],
        "-inf": [5, 13, 21, 29], "-0.0": [7, 15, 23, 31],
    }  # fmt: skip
    assert set(found["fill"]) <= {"uniform", "normal"}
    for dtype in (torch.float16, torch.bfloat16, torch.float64, torch.float8_e5m2):
        assert tensors.fill_of(SPECIAL.to(dtype))["except"] == found["except"], dtype


def test_statistics():
    torch.manual_seed(0)
    normal = tensors.fill_of(torch.randn(5000) * 3 + 1)["fill"]["normal"]
    assert normal["mean"] == pytest.approx(1, abs=0.2) and normal["std"] == pytest.approx(3, 0.1)
    uniform = tensors.fill_of(torch.rand(5000) * 2 - 1)["fill"]["uniform"]
    assert uniform["low"] == pytest.approx(-1, abs=0.01)


def test_values_of_many_elements_lie_in_a_file(record, tmp_path):
    one = record("torch.compile(lambda x, y: x + y)(torch.randn(40, 40), torch.randn(40))").only()
    exact = cases.Way(True, False)
    file = cases.put(one, exact, tmp_path)
    inputs = json.loads(file.read_text())["inputs"]
    assert len(inputs["y"]["values"]) == 40
    data = (tmp_path / "values" / inputs["x"]["file"]).read_bytes()
    assert len(data) == 6400 and inputs["x"]["file"] == hashlib.sha256(data).hexdigest() + ".bin"
    filled = tmp_path / "filled"
    filled.mkdir()
    cases.put(one, cases.Way(False, False), filled)
    assert [each.name for each in filled.iterdir()] == ["model-lambda.json"]


def test_elements_are_written_to_the_bit():
    from lockstep.capturing.elements import elements_of

    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        facts = torch.finfo(dtype)
        edges = [facts.max, facts.min, facts.tiny, facts.smallest_normal, facts.eps, 1 / 3, 0.1]
        exact = torch.tensor(edges, dtype=dtype)
        name = str(dtype).removeprefix("torch.")
        text = json.dumps(list(elements_of(name, tensors.bytes_of(exact))))
        assert torch.equal(torch.tensor(json.loads(text), dtype=dtype), exact), (dtype, text)


def test_torchs_zero_tensor_stays_one(record, case_of):
    one = record(
        "z = torch._efficientzerotensor(2, 3)\n"
        "torch.compile(lambda x, z: x + z)(torch.ones(2, 3), z)"
    ).only()
    zero = {"dtype": "float32", "shape": [2, 3], "zero_tensor": True}
    assert case_of(one)["inputs"]["z"] == zero
