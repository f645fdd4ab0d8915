"""Generated source: what it looks like, and that nothing hostile reaches it."""

import ast
import json
import math
import pathlib

import pytest
import torch

from lockstep_worker.problems import Malformed, Unsupported
from lockstep_worker.source import _BINARY, _UNARY, compile_text, float_text, generate

X = {"ref": "x"}
#: The table of scalar operators that the runner and the C++ worker have
#: (runner/program/scalar_operators.h).
SCALARS = json.loads(
    (
        pathlib.Path(__file__).parents[2] / "program" / "testdata" / "scalar_operators.json"
    ).read_text()
)


def source(steps, outputs, inputs=("x",), kinds=None, literal=lambda view: None):
    return generate(
        {"inputs": list(inputs), "steps": steps, "outputs": outputs},
        literal,
        kinds or dict.fromkeys(inputs, "tensor"),
    )


def body(steps, outputs, **rest):
    text = source(steps, outputs, **rest).text
    return text[text.index("def program") :]


def op(let, name, *args, **kwargs):
    return {"let": let, "op": f"aten::{name}", "args": list(args), "kwargs": kwargs}


def scalar_step(name, operands):
    return body([{"let": ["q"], "scalar": [name, *operands]}], ["q"]).splitlines()[1].strip()


def test_the_scalar_operators_are_those_of_the_runner():
    assert [each["name"] for each in SCALARS if each["most"] is not None] == sorted(
        [*_BINARY, *_UNARY], key=[each["name"] for each in SCALARS].index
    )
    for each in SCALARS:
        operands = list(range(each["fewest"]))
        written = (
            each["python"].format(*map(str, operands))
            if each["most"]
            else each["python"].format("0, 1")
        )
        assert scalar_step(each["name"], operands) == "q = " + written
        with pytest.raises(Malformed):
            scalar_step(each["name"], operands[1:])
        if each["most"]:
            with pytest.raises(Malformed):
                scalar_step(each["name"], [*operands, 9])
        else:
            assert scalar_step(each["name"], [3, 4, 5]) == "q = " + each["python"].format("3, 4, 5")


def test_outputs_may_come_twice_and_be_constants():
    outputs = ["y", None, 3, {"float": "0x1p-1"}, True, "y", {"float": "inf"}]
    made = source([op(["y"], "relu.default", X)], outputs)
    assert made.text.endswith("return (y, None, 3, 0.5, True, y, math.inf)\n")
    assert made.outputs == ["y", "output-2", "output-3", "output-4", "output-5", "y(2)", "output-7"]
    assert source([op([], "relu_.default", X)], []).text.endswith("return ()\n")
    for wrong in ([1], {"str": "y"}, {"ref": "x"}, {"complex": ["0x1p+0", "0x1p+0"]}, "z"):
        with pytest.raises(Malformed):
            source([], [wrong])


def test_steps_that_nobody_uses_stay():
    steps = [
        op([None], "relu.default", X),
        op([None], "max.dim", X, 0),
        {"let": [None], "call": "torch.nn.functional.gelu", "args": [X]},
        {"let": [None], "scalar": ["add", 1, 2]},
    ]
    assert body(steps, ["x"]).splitlines()[1:-1] == [
        "    x.relu()",
        "    x.max(0)",
        "    torch.nn.functional.gelu(x)",
        "    1 + 2",
    ]


def test_autocast_can_be_off():
    context = {"autocast": {"device": "cpu", "dtype": "bfloat16", "enabled": False}}
    text = body([{"with": context, "steps": [op(["y"], "relu.default", X)]}], ["y"])
    assert "with torch.autocast('cpu', dtype=torch.bfloat16, enabled=False):" in text
    context["autocast"]["enabled"] = "no"
    with pytest.raises(Malformed):
        body([{"with": context, "steps": []}], ["x"])


def test_steps_that_are_not_compiled_are_a_function_of_their_own():
    """It is given what the compiled one has made, and no more of that than it needs."""
    beside = {
        "with": {"compiled": False, "grad": False},
        "steps": [op(["y"], "mul.Tensor", {"ref": "b"}, {"ref": "x"})],
    }
    steps = [op(["a"], "relu.default", X), op(["b"], "exp.default", {"ref": "a"}), beside]
    found = source(steps, ["y", "x"])
    assert found.beside and found.outputs == ["y", "x"]
    assert (
        found.text[found.text.index("def program") :]
        == """\
def program(x):
    a = x.relu()
    b = a.exp()
    return (b,)


def beside(x, b):
    with torch.no_grad():
        y = b.mul(x)
    return (y, x)
"""
    )
    assert not source(steps[:2], ["b"]).beside
    for wrong in ([beside, steps[0]], [*steps[:2], {"with": {"grad": True}, "steps": [beside]}]):
        with pytest.raises(Malformed, match="only the last step"):
            source(wrong, ["b"])


def test_reads_as_a_person_would_write_it():
    steps = [
        op(["h"], "to.dtype", X, {"dtype": "float16"}),
        op(["y"], "to.dtype", {"ref": "h"}, {"dtype": "float32"}),
        op(["s"], "sum.dim_IntList", {"ref": "y"}, [1]),
    ]
    assert body(steps, ["y", "s"]) == (
        "def program(x):\n    h = x.to(torch.float16)\n    y = h.to(torch.float32)\n"
        "    s = y.sum([1])\n    return (y, s)\n"
    )


def test_every_kind_of_step():
    steps = [
        op(["m", None], "max.dim", X, 0),
        {
            "let": ["a"],
            "get": X,
            "index": [
                {"ellipsis": True},
                {"slice": [-3, None, 2]},
                [0, 2],
                {"newaxis": True},
                True,
            ],
        },
        {"let": [], "set": {"ref": "a"}, "index": [], "to": {"float": "-inf"}},
        {"let": ["q"], "scalar": ["pow", -2, {"float": "0x1p-1"}]},
        {"let": ["r"], "scalar": ["max", {"ref": "q"}, 3]},
        {
            "let": ["g"],
            "grad": {"of": [{"ref": "m"}], "wrt": [X], "with": None, "create_graph": True},
        },
        {"let": ["c"], "call": "torch.nn.functional.softmax", "args": [X], "kwargs": {"dim": 0}},
        {"let": ["t"], "tensor": {"storage": 0}},
        {
            "with": {"grad": False, "autocast": {"device": "cpu", "dtype": "bfloat16"}},
            "steps": [
                {"with": {"default_dtype": "float64"}, "steps": [op(["d"], "relu.default", X)]}
            ],
        },
    ]
    assert (
        body(steps, ["d", "g"])
        == """\
def program(x):
    m, _ = x.max(0)
    a = x[..., -3::2, [0, 2], None, True]
    a[()] = -math.inf
    q = (-2) ** 0.5
    r = max(q, 3)
    g = torch.autograd.grad([m], [x], grad_outputs=[torch.ones_like(m)], create_graph=True, \
allow_unused=True)[0]
    c = torch.nn.functional.softmax(x, dim=0)
    t = literal
    with torch.no_grad(), torch.autocast('cpu', dtype=torch.bfloat16):
        with default_dtype(torch.float64):
            d = x.relu()
    return (d, g)
"""
    )


def test_names_that_mean_something_to_python_are_changed_and_nothing_else():
    names = "lambda print torch math program __debug__ __class__ _ lambda_ class_".split()
    steps = [
        op(["class"], "relu.default", {"ref": "lambda"}),
        op(["class_"], "neg.default", {"ref": "class"}),
    ]
    made = source(steps, ["class", "class_"], inputs=names)
    tree = ast.parse(made.text)
    assert len(set(made.inputs)) == len(names)
    assert "lambda_" in made.inputs and "lambda__" in made.inputs
    assert "_" not in made.inputs  # what nobody needs is assigned to it
    assert not {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)} & {
        "torch",
        "math",
        "print",
    }
    function, _ = compile_text(made.text, {})
    minus, plus = torch.tensor([-1.0]), torch.tensor([2.0])
    result = function(plus, *[minus] * (len(names) - 1))
    assert [t.item() for t in result] == [2.0, -2.0]


HOSTILE = [
    "__import__('os')",
    "x; import os",
    "x\n",
    "x)",
    "",
    "ö",
    "x y",
    "1x",
    "x.y",
    "\u0000",
    7,
    None,
    ["x"],
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name):
    for program in (
        {"inputs": [name], "steps": [], "outputs": []},
        {
            "inputs": ["x"],
            "steps": [op([name] if name is not None else 3, "relu.default", X)],
            "outputs": [],
        },
        {"inputs": ["x"], "steps": [op(["y"], "relu.default", {"ref": name})], "outputs": []},
        # Numbers and None are constants there.
        *([{"inputs": ["x"], "steps": [], "outputs": [name]}] * (name not in (7, None))),
    ):
        with pytest.raises(Malformed):
            generate(program, lambda view: None, {})


@pytest.mark.parametrize(
    "value",
    [
        {"dtype": "float16; x"},
        {"device": "cpu'); x"},
        {"device": "CPU"},
        {"layout": "strided\n"},
        {"str": 3},
        {"str": ["a"]},
        {"float": "__import__"},
        {"float": "1.5"},
        {"float": 1.5},
        {"float": "0x"},
        1.5,
        {"ref": "x", "str": "y"},
        {},
        {"complex": ["0x1p0"]},
        {"eval": "x"},
    ],
)
def test_hostile_values(value):
    with pytest.raises(Malformed):
        source([op(["y"], "add.Tensor", X, value)], ["y"])


@pytest.mark.parametrize(
    "value",
    [
        {"dtype": "Tensor"},
        {"dtype": "load"},
        {"dtype": "nope"},
        {"layout": "float16"},
        {"memory_format": "strided"},
    ],
)
def test_words_that_torch_does_not_have(value):
    with pytest.raises(Unsupported):
        source([op(["y"], "add.Tensor", X, value)], ["y"])


def test_strings_stay_strings():
    text = "'); __import__('os').system('x') #\n\"\"\"\\\ud800{x}"
    made = source([op(["y"], "div.Tensor_mode", X, X, rounding_mode={"str": text})], ["y"]).text
    constants = [node.value for node in ast.walk(ast.parse(made)) if isinstance(node, ast.Constant)]
    assert text in constants and "__import__" not in {
        n.id for n in ast.walk(ast.parse(made)) if isinstance(n, ast.Name)
    }


@pytest.mark.parametrize("key", ["x=1, y", "class", "", "*", "self "])
def test_hostile_keywords(key):
    with pytest.raises(Malformed):
        source([op(["y"], "relu.default", **{key: X})], ["y"])


@pytest.mark.parametrize(
    "function",
    """
        os.system torch.load torch.hub.load torch.nn.functional.relu.__globals__ torch.os.system
        torch torch.utils.cpp_extension.load torch.Tensor.backward.__code__ torch.ops.aten.add
        torch.set_default_dtype
    """.split(),
)
def test_functions_that_are_not_public_operators(function):
    with pytest.raises((Malformed, Unsupported)):
        source([{"let": ["y"], "call": function, "args": [X], "kwargs": {}}], ["y"])


def test_floats_keep_their_bits():
    for value in (0.0, -0.0, 0.1, 5e-324, 1.7976931348623157e308, 2 / 3):
        back = ast.literal_eval(float_text(value.hex()))
        assert back == value and math.copysign(1, back) == math.copysign(1, value)
    assert [float_text(t) for t in ("inf", "-inf", "nan")] == ["math.inf", "-math.inf", "math.nan"]


def test_undefined_names_and_odd_structures():
    for steps in (
        [op(["y"], "relu.default", {"ref": "z"})],
        [{"let": ["y"]}],
        ["x"],
        [{"let": "y", "op": "aten::relu.default"}],
        [{"let": ["y"], "set": X, "index": [0], "to": 1}],
        [{"let": ["y"], "scalar": ["exec", 1]}],
        [{"let": ["y"], "scalar": ["add", 1]}],
        [{"let": ["y"], "get": X, "index": [{"float": "nan", "x": 1}]}],
    ):
        with pytest.raises(Malformed):
            source(steps, ["x"])
    with pytest.raises(Unsupported):
        source([{"with": {"vmap": 1}, "steps": []}], ["x"])
    deep: dict = {"with": {"grad": True}, "steps": []}
    for _ in range(40):
        deep = {"with": {"grad": True}, "steps": [deep]}
    with pytest.raises(Malformed):
        source([deep], ["x"])


# Operators that take sub-programs -----------------------------------------------------------------


def sub(inputs, steps, outputs):
    return {"inputs": inputs, "steps": steps, "outputs": outputs}


def apply(let, name, args, kwargs=None, **programs):
    args = [{"ref": each} for each in args]
    return {"let": let, "apply": name, "args": args, "kwargs": kwargs or {}, **programs}


NEGATED = sub(["a"], [op(["r"], "neg.default", {"ref": "a"})], ["r"])
ADDED = sub(["s", "t"], [op(["u"], "add.Tensor", {"ref": "s"}, {"ref": "t"})], ["u"])
OF_TWO = sub(["s", "t"], [op(["u"], "add.Tensor", {"ref": "s"}, {"ref": "t"})], ["u", "t"])
LESS = sub(["k"], [op(["on"], "gt.Scalar", {"ref": "k"}, 0)], ["on"])
DOWN = sub(["k"], [op(["l"], "sub.Tensor", {"ref": "k"}, 1)], ["l"])


def test_a_branch_is_two_functions_and_a_call():
    step = apply(["y"], "cond", ["x"], {"pred": {"ref": "p"}}, do=NEGATED, **{"else": NEGATED})
    assert body([step], ["y"], inputs=("x", "p")) == (
        "def program(x, p):\n"
        "    def do(a):\n"
        "        r = a.neg()\n"
        "        return r\n"
        "    def otherwise(a):\n"
        "        r = a.neg()\n"
        "        return r\n"
        "    y = cond(p, do, otherwise, (x,))\n"
        "    return (y,)\n"
    )


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "programs", "call"),
    [
        (
            *("checkpoint", "x", {}, NEGATED),
            "torch.utils.checkpoint.checkpoint(do, x, use_reentrant=False)",
        ),
        ("vmap", "xp", {"in_dims": [0, None]}, ADDED, "torch.vmap(do, in_dims=(0, None))(x, p)"),
        ("vmap", "x", {"in_dims": [1]}, NEGATED, "torch.vmap(do, in_dims=1)(x)"),
        ("grad", "xp", {"argnums": [1]}, ADDED, "torch.func.grad(do, argnums=1)(x, p)"),
        ("jvp", "x", {"tangents": [{"ref": "p"}]}, NEGATED, "torch.func.jvp(do, (x,), (p,))"),
    ],
)  # fmt: skip
def test_transforms_are_written_as_people_write_them(name, args, kwargs, programs, call):
    let = ["y", "z"] if name == "jvp" else ["y"]
    text = body([apply(let, name, list(args), kwargs, do=programs)], let, inputs=("x", "p"))
    assert f"    {', '.join(let)} = {call}\n" in text


def test_regions_that_read_alike_are_one_function_outside_of_the_program():
    inner = sub(["a"], [op(["r"], "mul.Tensor", {"ref": "a"}, {"ref": "p"})], ["r"])
    steps = [
        apply([let], "nested_compile_region", [given], do=inner)
        for let, given in (("y", "x"), ("z", "y"))
    ]
    text = source(steps, ["z"], inputs=("x", "p")).text
    assert text.endswith(
        "@torch.compiler.nested_compile_region\n"
        "def region(a, p):\n"
        "    r = a.mul(p)\n"
        "    return r\n\n\n"
        "def program(x, p):\n"
        "    y = region(x, p)\n"
        "    z = region(y, p)\n"
        "    return (z,)\n"
    )


def run_plain(monkeypatch, step, outputs, *given):
    """What a program returns where every operator of torch that compiles itself raises."""
    for name in ("while_loop", "scan", "associative_scan"):
        monkeypatch.setattr(torch._higher_order_ops, name, None)
    monkeypatch.setattr(torch, "cond", None)
    inputs = "xpq"[: len(given)]
    program, _ = compile_text(source([step], outputs, inputs=tuple(inputs)).text, {})
    return [each.tolist() for each in program(*given)]


def test_eager_python_never_calls_an_operator_that_compiles_itself(monkeypatch):
    x, other = torch.tensor([1.0, 2.0, 4.0]), {"else": sub(["a"], [], ["a"])}
    branch = apply(["y"], "cond", ["x"], {"pred": {"ref": "p"}}, do=NEGATED, **other)
    assert run_plain(monkeypatch, branch, ["y"], x, torch.tensor(True)) == [[-1, -2, -4]]
    assert run_plain(monkeypatch, branch, ["y"], x, torch.tensor(False)) == [[1, 2, 4]]
    loop = apply(["y"], "while_loop", ["x"], {"most": 3}, do=DOWN, **{"while": LESS})
    assert run_plain(monkeypatch, loop, ["y"], torch.tensor(3)) == [0]
    with pytest.raises(RuntimeError, match="while_loop: more than 3 iterations"):
        run_plain(monkeypatch, loop, ["y"], torch.tensor(4))
    init = {"init": [{"ref": "p"}]}
    scan = apply(["c", "y"], "scan", ["x"], {**init, "reverse": True}, do=OF_TWO)
    assert run_plain(monkeypatch, scan, ["c", "y"], x, torch.tensor(0.0)) == [7, [1, 2, 4]]
    sums = apply(["y"], "associative_scan", ["x"], {}, do=ADDED)
    assert run_plain(monkeypatch, sums, ["y"], x) == [[1, 3, 7]]
    score = sub(
        ["s", "b", "h", "i", "j"], [op(["r"], "sub.Tensor", {"ref": "s"}, {"ref": "j"})], ["r"]
    )
    heads = torch.arange(8.0).reshape(1, 1, 4, 2)
    attention = apply(["y"], "flex_attention", ["x", "x", "x"], {}, do=score)
    (found,) = run_plain(monkeypatch, attention, ["y"], heads)
    places = heads @ heads.mT / math.sqrt(2) - torch.arange(4.0)
    torch.testing.assert_close(torch.tensor(found), places.softmax(-1) @ heads)


def test_what_a_sub_program_names_is_known_in_it_alone():
    with pytest.raises(Malformed, match="'r' is not defined"):
        source([apply(["y"], "checkpoint", ["x"], do=NEGATED)], ["r"])
    with pytest.raises(Malformed, match="'x' is defined twice"):
        source([apply(["y"], "checkpoint", ["x"], do=sub(["x"], [], ["x"]))], ["y"])
    with pytest.raises(Unsupported, match="no operator 'fold'"):
        source([apply(["y"], "fold", ["x"], do=NEGATED)], ["y"])
    inner = NEGATED
    for depth in range(6):
        inner = sub(
            [f"a{depth}"], [apply([f"y{depth}"], "checkpoint", ["x"], do=inner)], [f"y{depth}"]
        )
    with pytest.raises(Malformed, match="more than"):
        source([apply(["y"], "checkpoint", ["x"], do=inner)], ["y"])
