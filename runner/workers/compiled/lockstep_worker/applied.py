"""Operators that take sub-programs, as text.

Some of torch's own compile themselves when they are called eagerly. Of these there is a helper: to
whoever traces it the operator, to Python what the operator means, an `if` or a loop. So the
reference is never the compiler's.
"""

from collections.abc import Callable

from .compat.operators import HIGHER_ORDER
from .problems import Malformed, Unsupported, need

#: The operators, as runner/program/higher_order.cpp has them → the roles of their sub-programs.
ROLES = {
    "cond": ("do", "else"),
    "while_loop": ("while", "do"),
    "scan": ("do",),
    "associative_scan": ("do",),
    "checkpoint": ("do",),
    "nested_compile_region": ("do",),
    "vmap": ("do",),
    "grad": ("do",),
    "jvp": ("do",),
    "flex_attention": ("do",),
}
#: How the functions of the roles are called.
FUNCTIONS = {"do": "do", "else": "otherwise", "while": "goes_on"}
#: How deep sub-programs may lie in sub-programs.
MOST_DEEP = 4

HELPERS = {
    "cond": """\
def cond(predicate, do, otherwise, operands):
    if torch.compiler.is_compiling():
        return torch.cond(predicate, do, otherwise, operands)
    return do(*operands) if predicate else otherwise(*operands)
""",
    "while_loop": """\
def while_loop(condition, do, carried, most):
    if torch.compiler.is_compiling():
        return HIGHER_ORDER.while_loop(condition, do, carried)
    count = 0
    while condition(*carried):
        if count == most:
            raise RuntimeError(f"while_loop: more than {most} iterations")
        carried, count = do(*carried), count + 1
    return carried if count else tuple(each.clone() for each in carried)
""",
    "stacked": """\
def stacked(slices, dim):
    whole = torch.stack(slices)
    return torch.movedim(whole, 0, dim) if dim else whole
""",
    "scan": """\
def scan(do, init, xs, dim=0, reverse=False):
    if torch.compiler.is_compiling():
        return HIGHER_ORDER.scan(do, init, xs, dim=dim, reverse=reverse)
    places, left = range(xs[0].shape[dim]), []
    for place in reversed(places) if reverse else places:
        init, results = do(init, tuple(x.select(dim, place) for x in xs))
        left.append(results)
    left = left[::-1] if reverse else left
    return init, tuple(stacked(slices, dim) for slices in zip(*left))
""",
    "associative_scan": """\
def associative_scan(do, xs, dim=0, reverse=False):
    if torch.compiler.is_compiling():
        return HIGHER_ORDER.associative_scan(
            do, xs, dim, reverse=reverse, combine_mode="generic"
        )
    places, left = range(xs[0].shape[dim]), []
    for place in reversed(places) if reverse else places:
        now = tuple(x.select(dim, place) for x in xs)
        left.append(do(left[-1], now) if left else now)
    left = left[::-1] if reverse else left
    return tuple(stacked(slices, dim) for slices in zip(*left))
""",
    "flex_attention": """\
import torch.nn.attention.flex_attention


def flex_attention(query, key, value, do, scale=None):
    if torch.compiler.is_compiling():
        return torch.nn.attention.flex_attention.flex_attention(
            query, key, value, score_mod=do, scale=scale
        )
    scores = query @ key.transpose(-2, -1)
    scores = scores.to(torch.float64 if query.dtype == torch.float64 else torch.float32)
    scores = scores * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    places = [
        torch.arange(size, device=query.device).view([-1 if k == dim else 1 for k in range(4)])
        for dim, size in enumerate(scores.shape)
    ]
    return torch.softmax(do(scores, *places), -1).to(query.dtype) @ value
""",
}
HELPERS = {name: text.replace("HIGHER_ORDER", HIGHER_ORDER) for name, text in HELPERS.items()}
#: The helpers that a helper calls.
NEEDS = {"scan": ("stacked",), "associative_scan": ("stacked",)}


def checked(step: dict) -> dict[str, dict]:
    """The sub-programs of a step, by role. Raises `Malformed`, and `Unsupported` for an operator
    that this worker does not know."""
    name = step["apply"]
    if not isinstance(name, str) or name not in ROLES:
        raise Unsupported(f"this worker knows no operator {name!r:.80} that takes sub-programs")
    programs = {}
    for role in ROLES[name]:
        program = need(step, role, f"a step `{name}`")
        for key in ("inputs", "steps", "outputs"):
            if not isinstance(need(program, key, role), list):
                raise Malformed(f"{role}.{key}: a list is expected")
        programs[role] = program
    return programs


def inner(step: dict) -> list[list[dict]]:
    """The lists of steps in a step: those of a block, or of its sub-programs."""
    if "with" in step:
        return [step["steps"]]
    return [step[role]["steps"] for role in ROLES[step["apply"]]] if "apply" in step else []


def region(text: str, name: str) -> str:
    """The function of a region. It stands outside of the program, for Dynamo refuses the decorator
    inside of what it compiles."""
    return "@torch.compiler.nested_compile_region\n" + text.replace("def {}(", f"def {name}(", 1)


def parts(name: str, inputs: list[str], args: int) -> list[list[str]] | None:
    """How the inputs of a sub-program come: in tuples of these; None: one by one."""
    if name == "scan":
        return [inputs[: len(inputs) - args], inputs[len(inputs) - args :]]
    if name == "associative_scan":
        return [inputs[:args], inputs[args:]]
    return None


def group(texts: list[str]) -> str:
    """A tuple as text."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def returned(name: str, role: str, outputs: list[str], carried: int) -> str:
    """What a sub-program returns, as text: one tensor as it is, where the operator takes that."""
    if role == "while":
        return outputs[0]
    if name == "scan":
        return f"{group(outputs[:carried])}, {group(outputs[carried:])}"
    if name in ("while_loop", "associative_scan") or len(outputs) > 1:
        return group(outputs)
    return outputs[0]


def call(
    step: dict, functions: dict[str, str], args: list[str], kwargs: dict[str, str], helper: str
) -> str:
    """The call of the operator as text; `helper` is the name of its helper."""
    name, do = step["apply"], functions["do"]
    listed = ", ".join(args)
    words = "".join(f", {key}={text}" for key, text in kwargs.items())
    if name == "cond":
        return f"{helper}({kwargs['pred']}, {do}, {functions['else']}, {group(args)})"
    if name == "while_loop":
        return f"{helper}({functions['while']}, {do}, {group(args)}, {kwargs['most']})"
    if name == "scan":
        rest = "".join(f", {key}={text}" for key, text in kwargs.items() if key != "init")
        return f"{helper}({do}, {kwargs['init']}, {group(args)}{rest})"
    if name == "associative_scan":
        return f"{helper}({do}, {group(args)}{words})"
    if name == "flex_attention":
        return f"{helper}({listed}, {do}{words})"
    if name == "checkpoint":
        return f"torch.utils.checkpoint.checkpoint({do}, {listed}, use_reentrant=False)"
    if name == "nested_compile_region":
        return f"{do}({listed})"
    if name == "vmap":
        return f"torch.vmap({do}{words})({listed})"
    if name == "grad":
        return f"torch.func.grad({do}{words})({listed})"
    return f"torch.func.jvp({do}, {group(args)}, {kwargs['tangents']})"


def targets(step: dict, text: Callable[[str], str]) -> str:
    """`a, b = ` for the names of a step, as its operator returns them; `text` writes a name."""
    name, let = step["apply"], step.get("let") or []
    if not any(each is not None for each in let):
        return ""
    words = ["_" if each is None else text(each) for each in let]
    if name == "scan":
        carried = len(step["kwargs"]["init"])
        return f"{group(words[:carried])}, {group(words[carried:])} = "
    if name == "jvp" and len(words) > 2:
        half = len(words) // 2
        return f"{group(words[:half])}, {group(words[half:])} = "
    if name in ("while_loop", "associative_scan") and len(words) == 1:
        return f"({words[0]},) = "
    return ", ".join(words) + " = "
