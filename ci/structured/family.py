"""What the parts of the family have in common: calls, and the instances that rows make of them."""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from . import covering
from .tensors import FLOATS, SINGLE, tensor

#: Dtypes among arguments.
DTYPES = ("float16", "bfloat16", "float32", "float64", "int32", "int64", "complex64")
#: Beside no gradient: how the gradient that comes in lies in memory, and one whose squares
#: overflow.
GRADIENTS = ("none", "contiguous", "expanded", "transposed", "huge")


@dataclass(frozen=True)
class Call:
    """A call of an operator. Texts in `args` and `kwargs` that `value` of its part knows, such as
    `D`, stand for values of a row.

    `name`: what ids call it; `grad`: it can be differentiated; `least`: the least size that it
    takes; `dtypes`: those that it takes; `unstable`: the result of places that any order of equal
    elements may have; `of`: the result that is differentiated; `flags`: words of its part."""

    op: str
    args: tuple = ()
    kwargs: dict = field(default_factory=dict, hash=False)
    name: str = ""
    grad: bool = True
    least: int = 0
    dtypes: tuple[str, ...] = ("float32", "float64", "bfloat16", "int64")
    unstable: str = ""
    of: str = "y"
    flags: frozenset[Any] = frozenset()

    @property
    def label(self) -> str:
        return self.name or self.op.split(".")[0]


@dataclass(frozen=True)
class Part:
    """A file of the family: its calls, in groups of relatives that share a row of the array, and
    the factors that are crossed with the groups.

    `instance` makes of a row the inputs, and the values that texts in the arguments stand for;
    among these `compare` may be the policies, and `fixed` inputs that get no gradient. `more` are
    rows beside the array."""

    file: str
    title: str
    tags: tuple[str, ...]
    calls: Sequence[tuple[Call, ...]]
    factors: Mapping[str, Sequence[Hashable]]
    allowed: Callable[[Call, dict], bool]
    instance: Callable[[Call, dict], tuple[dict, dict]]
    more: tuple[dict, ...] = ()
    share: bool = True


def rows(part: Part) -> list[dict]:
    """The covering array of a part, and the rows that it names besides. The calls of a group take
    turns."""

    def fits(call: Call, row: dict) -> bool:
        return (
            (call.grad or row.get("gradient", "none") == "none")
            and row.get("size", call.least) >= call.least
            and row.get("dtype", call.dtypes[0]) in call.dtypes
            and part.allowed(call, row)
        )

    def allowed(row: dict) -> bool:
        if row.get("place", "first") != "first" and row.get("special", "nan") not in SINGLE:
            return False
        groups = [part.calls[row["call"]]] if "call" in row else part.calls
        return any(fits(call, row) for group in groups for call in group)

    uses: dict[str, int] = {}
    found = []
    for row in covering.rows({"call": range(len(part.calls)), **part.factors}, allowed):
        able = [call for call in part.calls[row["call"]] if fits(call, row)]
        call = min(able, key=lambda each: uses.get(each.label, 0))
        uses[call.label] = uses.get(call.label, 0) + 1
        found.append({**row, "call": call})
    return found + [*part.more]


def substituted(value: object, known: dict) -> Any:
    """The argument with what its texts stand for."""
    if isinstance(value, (list, tuple)):
        return [substituted(each, known) for each in value]
    return known.get(value, value) if isinstance(value, str) else value


def overload(op: str) -> torch._ops.OpOverload:
    """An operator of aten by the name that cases use."""
    name, _, of = op.partition(".")
    return getattr(getattr(torch.ops.aten, name), of or "default")


def _stand_in(spec: dict) -> torch.Tensor:
    """A tensor of the shape and dtype of an input: only the shape of a result hangs on it."""
    dtype = getattr(torch, spec["dtype"])
    if "values" in spec:
        values = torch.tensor(spec["values"], dtype=dtype)
        return values.reshape(spec.get("shape", values.shape))
    return torch.zeros(spec["shape"], dtype=dtype)


def executed(made: dict, tensors: dict[str, torch.Tensor]) -> tuple:
    """The results of an instance's call in eager."""

    def real(value: object) -> object:
        if isinstance(value, list):
            return [real(each) for each in value]
        if value in ("inf", "-inf"):
            return float(value)
        if isinstance(value, str) and value.startswith("%"):
            return tensors[value[1:]]
        return getattr(torch, value) if isinstance(value, str) and value in DTYPES else value

    kwargs = {name: real(value) for name, value in made["kwargs"].items()}
    found = overload(made["op"])(*(real(each) for each in made["args"]), **kwargs)
    return tuple(found) if isinstance(found, (tuple, list)) else (found,)


def choice(part: Part, row: dict) -> dict:
    """An instance, as a choice of the matrix of its file."""
    call: Call = row["call"]
    inputs, known = part.instance(call, row)
    args, kwargs = (substituted(each, known) for each in (call.args, [*call.kwargs.values()]))
    returns = overload(call.op)._schema.returns
    names = ["y", *(f"y{at}" for at in range(1, len(returns)))]
    made = {
        "is": "-".join(
            [call.label.replace("_", "-")]
            + [str(row[name]) for name in row if name != "call" and says(row, name)]
        ),
        "op": call.op,
        "inputs": inputs,
        "args": args,
        "kwargs": dict(zip(call.kwargs, kwargs)),
        "let": names if len(names) > 1 else names[0],
        "outputs": names,
        "backward": None,
        "compare": {call.unstable: f"index_equivalent(x, dim={known['D']})"}
        if call.unstable
        else known.get("compare", {}),
    }
    if row.get("gradient", "none") != "none":
        differentiate(made, call.of, row["gradient"], known.get("fixed", ()))
    return made


def differentiate(made: dict, of: str, gradient: str, fixed: Collection[str]) -> None:
    """Gives an instance a backward pass, whose incoming gradient is the input `g`. Those that are
    `fixed` get no gradient."""
    results = executed(made, {name: _stand_in(spec) for name, spec in made["inputs"].items()})
    result = results[made["outputs"].index(of)]
    for name, spec in made["inputs"].items():
        if spec["dtype"] in FLOATS and name not in fixed:
            spec["requires_grad"] = True
    made["inputs"]["g"] = tensor(
        [*result.shape],
        str(result.dtype).removeprefix("torch."),
        gradient if gradient in ("expanded", "transposed") else "contiguous",
        "huge" if gradient == "huge" else "none",
        seed=99,
    )
    made["backward"] = {"of": [of], "with": ["g"]}


def says(row: dict, name: str) -> bool:
    """Whether the id of an instance needs a factor of it: what is usual is left out."""
    usual = {"layout": "contiguous", "special": "none", "gradient": "none", "dtype": "float32"}
    if name == "place":
        return row.get("special") in SINGLE
    return row[name] != usual.get(name)
