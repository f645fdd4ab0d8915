"""Numbers that a program reads from tensors: a step where a case can say it, else said."""

import copy
import json
import pickle
import textwrap
from typing import Any

import pytest


def of(record, body, after="f(x)"):
    """What is captured of a function that Dynamo makes no graph of, on the numbers 0 to 5."""
    body = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    text = f"x = torch.arange(6.)\ndef f(x):\n    torch._dynamo.graph_break()\n{body}\n"
    return record(text + f"f = torch.compile(f, fullgraph=True)\n{after}\n")


def steps_of(case):
    return [{key: each[key] for key in each if key != "source"} for each in case["steps"]]


def said(ran):
    return [(each["source"]["line"], each["reason"]) for each in ran.reasons]


def test_a_number_is_handed_on_to_torch(record, case_of):
    ran = of(record, "n = x.max().item()\nreturn x.clamp(max=n - 1) * n")
    assert steps_of(case_of(ran.only())) == [
        {"let": "max", "op": "max", "args": ["%x"]},
        {"let": "item", "call": "torch.Tensor.item", "args": ["%max"]},
        {"let": "sub", "scalar": ["sub", "%item", 1]},
        {"let": "clamp", "call": "torch.Tensor.clamp", "args": ["%x"], "kwargs": {"max": "%sub"}},
        {"let": "mul", "call": "torch.Tensor.mul", "args": ["%clamp", "%item"]},
    ]
    assert said(ran) == [
        (
            6,
            "what Python does with what `item` reads from a tensor, but for arithmetic and calls "
            "of torch: the case has what came of it here",
        )
    ]


@pytest.mark.parametrize(
    ("word", "text", "scalars"),
    [
        ("two", "n * 2 + x.min().item()", [["mul", "%item", 2], ["add", "%mul", "%item_2"]]),
        ("reflected", "1 / (2 - n)", [["sub", 2, "%item"], ["div", 1, "%sub"]]),
        ("one", "-abs(n)", [["abs", "%item"], ["neg", "%abs"]]),
        ("whole", "n // 2 % 3", [["floordiv", "%item", 2], ["mod", "%floordiv", 3]]),
        ("power", "2 ** n", [["pow", 2, "%item"]]),
    ],
)
def test_arithmetic_is_steps(record, case_of, word, text, scalars):
    case = case_of(of(record, f"n = x.amax().item()\nreturn x + ({text})").only())
    assert [each["scalar"] for each in case["steps"] if "scalar" in each] == scalars


def test_an_integer_is_a_size_an_index_and_an_argument(record, case_of):
    ran = of(
        record,
        """
        n = x.argmin().item() + 2
        return x[:n], x.reshape(n, -1), x.sum(dim=n - 2)
        """,
    )
    steps = steps_of(case_of(ran.only()))
    assert [each for each in steps if "get" in each][0]["get"] == "%x[:%add]"
    assert {"let": "reshape", "call": "torch.Tensor.reshape", "args": ["%x", "%add", -1]} in steps


def test_a_number_is_returned(record, case_of):
    ran = of(record, "return x + 1, x.sum().item()")
    assert case_of(ran.only())["outputs"] == ["add", "item"]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("__float__", "return x * float(x[1])"),
        ("__int__", "return x * int(x[1])"),
        ("__bool__", "return x * 2 if x[1] > 0 else x"),
        ("__bool__", "return x * (not x[1])"),
        ("__index__", "return x * [1, 2][x[1].long()]"),
        ("tolist", "return x * x[:2].tolist()[1]"),
        ("numpy", "return x * int(x.numpy()[1])"),
        ("equal", "return x * 2 if torch.equal(x, x + 1) else x + 1"),
        ("allclose", "return x * 2 if torch.allclose(x, x + 1) else x + 1"),
        ("__contains__", "return x * 2 if 3 in x else x"),
        ("shape", "return x.reshape(2, 3) * (x > 1).nonzero().shape[0]"),
        ("__len__", "return x * len(x[x > 2] + 1)"),
        ("size", "return x * torch.unique(x).reshape(1, -1).size(1)"),
        ("item", "return x * 2 if x[1].item() > 0 else x"),
        ("item", "return x * len(range(int(x[1].item())))"),
    ],
)
def test_what_python_makes_of_elements_is_said_with_its_place(record, word, text):
    ran = of(record, text)
    ((line, reason),) = said(ran)
    assert (line, f"what `{word}` reads from a tensor" in reason) == (6, True), reason
    assert ran.only().region["where"]["name"] == "f"


@pytest.mark.parametrize("word", ["float(x[1])", "int(x[1])", "bool(x[1])", "x[1].item()"])
def test_a_compiler_sees_that_an_element_is_read(record, case_of, word):
    steps = steps_of(case_of(of(record, f"{word}\nreturn x + 1").only()))
    assert {"let": None, "call": "torch.Tensor.item", "args": ["%item"]} in steps


@pytest.mark.parametrize(
    "text",
    [
        "x.shape, x.dim(), len(x), x.is_contiguous(), x.dtype",
        "str(x), f'{x}', print(x)",
        "x[1:].shape",
    ],
)
def test_what_does_not_depend_on_elements_is_not_said(record, text):
    ran = of(record, f"({text})\nreturn x + 1")
    assert (ran.only().region["route"], ran.reasons) == ("trace", [])


def test_a_number_of_a_graph_stays_one(record, case_of):
    ran = record(
        """
        torch._dynamo.config.capture_scalar_outputs = True
        torch.compile(lambda x: x * x.sum().item(), fullgraph=True)(torch.ones(3))
        """
    )
    steps = steps_of(case_of(ran.only()))
    assert [(each.get("op") or each["call"]).split(".")[-1] for each in steps][1:] == [
        "item",
        "mul",
    ]
    assert ran.reasons == []


def test_what_the_program_gets_is_what_it_got(record):
    body = """
    n, i = x[3].item(), x.argmax().item()
    import copy, json, math
    out = [n, i, n * 2, i // 2, round(n), math.sqrt(n + 1), [0, 1][i - 4], f"{n:.2f} {i:03}",
           json.dumps([n, i]), copy.deepcopy({n: i}), isinstance(n, float), n == 3, hash(i)]
    print(out)
    return x
    """
    ran = of(record, body, "try: f(x)\nexcept Exception: pass")
    plain = of(record, body, "f._torchdynamo_orig_callable(x)")
    assert ran.text and ran.text == plain.text


def test_a_copy_of_a_followed_number_is_a_number():
    from lockstep.capturing import reads

    told: list[tuple] = []

    def told_of(*call: Any) -> Any:
        told.append(call)
        return call[2]

    number = reads.followed(3, told_of)
    assert type(pickle.loads(pickle.dumps(number))) is type(copy.deepcopy(number)) is int
    assert (json.dumps(number), str(number), range(number)) == ("3", "3", range(3))
    assert (number + 1, 10 - number, number / 2, number**2, -number) == (4, 7, 1.5, 9, -3)
    assert [call[1] for call in told] == [(3, 1), (10, 3), (3, 2), (3, 2), (3,)]
    assert reads.followed(True, told_of) is True and reads.plain("a") == "a"
    with pytest.raises(TypeError):
        number + "a"
