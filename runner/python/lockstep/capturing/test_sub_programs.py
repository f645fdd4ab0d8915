"""Programs with control flow, regions and transforms: these are steps with sub-programs."""

import json

import pytest

HIGHER = """
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.func import grad, grad_and_value, jvp, vjp, vmap
import torch.utils.checkpoint
@torch.compiler.nested_compile_region
def region(x): return x.sin() + 1
@torch.compiler.nested_compile_region
def other(x): return region(x) * x
def no_grad(x):
    with torch.no_grad(): y = x * 2
    return x + y
x = torch.rand(6, 5)
w = torch.rand(5)
q = torch.rand(1, 2, 16, 8)
"""
#: A call of a compiled function, and the operators of its steps that take sub-programs.
PROGRAMS = {
    "branch": (
        "lambda x, w: torch.cond(x.sum() > 0, lambda a: (a * w, a.sin()), "
        "lambda a: (a + w, a.cos()), (x,))",
        "x, w",
        ["cond"],
    ),
    "branch-of-nothing": (
        "lambda x, w: torch.cond(x.sum() > 0, lambda: x * w, lambda: x + w)",
        "x, w",
        ["cond"],
    ),
    "branch-in-branch": (
        "lambda x: torch.cond(x.sum() > 0, lambda a: torch.cond(a.max() > 1, lambda b: b * 2, "
        "no_grad, (a,)), lambda a: a.cos(), (x,))",
        "x",
        ["cond", "cond"],
    ),
    "loop": (
        "lambda n, x, w: while_loop(lambda k, a: k > 0, lambda k, a: (k - 1, a * w), (n, x))",
        "torch.tensor(3), x, w",
        ["while_loop"],
    ),
    "scan": (
        "lambda x, w: scan(lambda c, y: (c + y * w[0], c * y), torch.zeros(6), x, dim=1, "
        "reverse=True)",
        "x, w",
        ["scan"],
    ),
    "associative": (
        "lambda x: associative_scan(lambda a, b: a * b, x, 0, combine_mode='generic')",
        "x",
        ["vmap"] * 4,
    ),
    "checkpoint": (
        "lambda x, w: torch.utils.checkpoint.checkpoint(lambda a: (a * w).tanh(), x, "
        "use_reentrant=False)",
        "x, w",
        ["checkpoint"],
    ),
    "regions": ("lambda x: other(region(x))", "x", ["nested_compile_region"] * 2),
    "attention": (
        "lambda q, w: flex_attention(q, q, q, score_mod=lambda s, b, h, i, j: s + (i - j) * w[h])",
        "q, w",
        ["flex_attention"],
    ),
    "plain-attention": ("lambda q: flex_attention(q, q * 2, q)", "q", ["flex_attention"]),
    "rows": (
        "lambda x, w: vmap(lambda r, v: r.softmax(0) * r.sum() + v, in_dims=(1, 0), out_dims=1)"
        "(x, w)",
        "x, w",
        ["vmap"],
    ),
    "rows-of-rows": (
        "lambda x, y: vmap(lambda r: vmap(lambda v: (v * r).sum())(y))(x)",
        "x, x + 1",
        ["vmap", "vmap"],
    ),
    "gradient": (
        "lambda x, w: grad(lambda w, r: (r.sin() * w).sum(), argnums=1)(w, x)",
        "x, w",
        ["grad"],
    ),
    "gradients": (
        "lambda x, w: grad(lambda w, r: (r.sin() * w).sum(), argnums=(0, 1))(w, x)",
        "x, w",
        ["grad"],
    ),
    "gradient-of-gradient": (
        "grad(lambda y: grad(lambda r: (r.sin() * r).sum())(y).sum())",
        "x",
        ["grad", "grad"],
    ),
    "gradients-by-row": (
        "vmap(grad(lambda w, r: (w * r).tanh().sum()), in_dims=(None, 0))",
        "w, x",
        ["vmap", "grad"],
    ),
    "derivative": (
        "lambda x: jvp(lambda r: r.tanh() * 2, (x,), (torch.ones_like(x),))",
        "x",
        ["jvp"],
    ),
}
#: Of these there are only the operators that are executed.
UNSAID = {
    "product": ("lambda x: vjp(lambda y: y.tanh() * 2, x)[1](torch.ones_like(x))", "x"),
    "value-and-gradient": ("grad_and_value(lambda x: (x.exp() * x).sum())", "x"),
    "jacobian": ("torch.func.jacfwd(lambda x: x.sin() * x[0])", "w"),
    "drawing": ("lambda x: vmap(lambda r: r + torch.rand(5), randomness='different')(x)", "x"),
    "masked-attention": (
        "lambda q, m=create_block_mask(lambda b, h, i, j: i >= j, 1, 1, 16, 16, device='cpu'): "
        "flex_attention(q, q, q, block_mask=m)",
        "q",
    ),
}


def applied(steps):
    """The operators with sub-programs, those inside of others behind them."""
    found = []
    for step in steps:
        found += [step["apply"]] if "apply" in step else []
        for role in ("while", "do", "else"):
            found += applied(step.get(role, {}).get("steps", []))
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_sub_programs_are_steps_inside_steps(record, case_of, name):
    function, given, operators = PROGRAMS[name]
    ran = record(f"{HIGHER}f = {function}\ntorch.compile(f, fullgraph=True)({given})")
    assert ran.status == 0, ran.errors
    assert ran.reasons == []
    assert ran.only().region["route"] == "graph"
    assert applied(case_of(ran.only())["steps"]) == operators


@pytest.mark.parametrize("name", [*UNSAID])
def test_of_others_the_execution_is_captured(record, case_of, name):
    function, given = UNSAID[name]
    ran = record(f"{HIGHER}f = {function}\ntorch.compile(f)({given})")
    assert ran.status == 0, ran.errors
    for each in ran.cases:
        assert each.region["route"] != "graph" and applied(case_of(each)["steps"]) == []
    assert ran.cases or [each["reason"] for each in ran.reasons]


@pytest.mark.parametrize("name", ["branch", "scan", "checkpoint", "regions", "rows"])
def test_with_a_backward(record, name):
    function, given, _ = PROGRAMS[name]
    ran = record(
        f"{HIGHER}x.requires_grad_()\nf = {function}\ny = torch.compile(f)({given})\n"
        "(y if isinstance(y, torch.Tensor) else y[1]).sum().backward()\nprint(x.grad.sum() != 0)"
    )
    assert (ran.status, ran.text) == (0, "tensor(True)\n"), ran.errors
    assert ran.only().region["route"] == "graph"
    assert ran.only().region["calls"][0]["backward"]


def test_regions_have_a_backward_where_nothing_more_is_recorded(record):
    ran = record(
        """
        @torch.compiler.nested_compile_region
        def region(x): return x.sin() + 1
        x = torch.rand(3, requires_grad=True)
        for k in range(17):
            torch.compiler.reset()
            torch.compile(lambda x: region(region(x)) * k)(x).sum().backward()
        print(x.grad.shape)
        """
    )
    assert (ran.status, ran.text) == (0, "torch.Size([3])\n"), ran.errors
    assert any("--most-graphs" in reason for reason in map(str, ran.reasons))


def test_sizes_that_vary(record, case_of):
    ran = record(
        """
        def f(x): return torch.cond(x.sum() > 0, lambda a: a * a.shape[0], lambda a: a.cos(), (x,))
        f = torch.compile(f)
        f(torch.rand(4, 6))
        f(torch.rand(5, 6))
        """
    )
    case = case_of(ran.only())
    assert len(case["calls"]) == 2
    (step,) = [each for each in case["steps"] if "apply" in each]
    assert step["args"] == ["%x"] and "sym_size.int" in json.dumps(step["do"])


def test_settings_that_a_case_cannot_say(record):
    ran = record(
        """
        import functools
        import torch.utils.checkpoint as c
        kept = [torch.ops.aten.sin.default]
        contexts = functools.partial(c.create_selective_checkpoint_contexts, kept)
        f = lambda x: c.checkpoint(
            lambda a: a.sin().cos(), x, use_reentrant=False, context_fn=contexts
        )
        torch.compile(f)(torch.rand(3).requires_grad_())
        """
    )
    assert ran.status == 0, ran.errors
    assert all(each.region["route"] != "graph" for each in ran.cases)
