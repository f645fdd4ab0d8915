"""Random programs as case files, and how many of their verdicts fail: what ci/false-alarms runs.

    random_programs.py make DIR --programs N --seed N
    random_programs.py rates LOG

A program is grown step by step: an operator is drawn, its arguments from what there is, and torch
is asked at once what comes of it.  A step that raises, or that would only make NaN, infinity or
huge numbers, is drawn again: such programs ask nothing of a compiler.  Every policy is left to the
path's contract."""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

FLOATS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int64", "int32", "uint8", "int16")
NUMBERS = (0.1, 0.3, 0.7, 1.7, 2.5, -1.3, 2.0, 0.5, 3.0)
SHAPES = ((8,), (17,), (33,), (4, 6), (5, 5), (3, 16), (2, 3, 8), (1, 7), (2, 3, 6, 6))

#: Operators whose last result is indices.
INDEXING = ("argmax", "argmin", "sort", "topk")

_WORDS = json.loads((Path(__file__).parents[1] / "reports" / "words.json").read_text("utf-8"))

#: Statuses that say nothing of the compiler, and fail nothing.
QUIET = frozenset(each["name"] for each in _WORDS["statuses"] if each["junit"] == "skipped")

#: Statuses that rounding alone might bring about; no other is a matter of noise.
OF_VALUES = frozenset(
    each["name"] for each in _WORDS["statuses"] if each["rank"] in ("value", "nonfinite")
)

Step = tuple[str, list[Any], dict[str, Any]]


class Program:
    """A program under way: the names that there are, and what eager has under them."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"{seed}/{number}")
        self.backward = self.random.random() < 0.2
        torch.manual_seed(number)
        self.values: dict[str, torch.Tensor] = {}
        self.inputs: dict[str, Any] = {}
        self.steps: list[dict[str, Any]] = []
        self.used: set[str] = set()
        #: Integers that are indices whatever the floats are, and what they are less than.
        self.indices: dict[str, int] = {}

    # What a template may draw from.  Nothing where there is no such value: another template is
    # drawn then.

    def any(self, test: Callable[[torch.Tensor], bool] = lambda _: True) -> str | None:
        names = [name for name, value in self.values.items() if test(value)]
        # What was made last is rather taken than what was made first, so that programs grow deep.
        return self.random.choice(names[-6:]) if names else None

    def floating(self, dim: int | None = None) -> str | None:
        return self.any(lambda v: v.is_floating_point() and (dim is None or v.dim() == dim))

    def boolean(self) -> str | None:
        return self.any(lambda v: v.dtype == torch.bool)

    def integer(self) -> str | None:
        return self.any(lambda v: not v.is_floating_point() and v.dtype != torch.bool)

    def dim(self, name: str) -> int:
        return self.random.randrange(max(1, self.values[name].dim()))

    def number(self, name: str) -> float:
        """A number that the tensor's dtype holds: Inductor on the CPU rounds no other to 16 bits,
        as eager does (pytorch #185517, mended after 2.13)."""
        return float(torch.tensor(self.random.choice(NUMBERS), dtype=self.values[name].dtype))

    def grow(self, templates: list[Callable[[Program], Step | None]]) -> None:
        for _ in range(60):
            step = self.random.choice(templates)(self)
            if step is None:
                continue
            op, args, kwargs = step
            if self.try_step(op, args, kwargs):
                return

    def try_step(self, op: str, args: list[Any], kwargs: dict[str, Any]) -> bool:
        packet, _, overload = op.partition(".")
        function = getattr(getattr(torch.ops.aten, packet), overload or "default")
        dtypes = {*FLOATS, *INTEGERS, "bool"}

        def value(argument: Any) -> Any:
            if isinstance(argument, list):
                return [value(item) for item in argument]
            if isinstance(argument, str) and argument.startswith("%"):
                return self.values[argument[1:]]
            return getattr(torch, argument) if argument in dtypes else argument

        try:
            result = function(
                *map(value, args), **{key: value(item) for key, item in kwargs.items()}
            )
        except (RuntimeError, TypeError, IndexError, NotImplementedError, ValueError):
            return False
        results = list(result) if isinstance(result, (tuple, list)) else [result]
        if not results or not all(
            isinstance(each, torch.Tensor) and worth(each) for each in results
        ):
            return False
        names = [f"v{len(self.values) + i}" for i in range(len(results))]
        self.values.update(zip(names, results))
        step: dict[str, Any] = {
            "let": names if len(names) > 1 else names[0],
            "op": op,
            "args": args,
        }
        if kwargs:
            step["kwargs"] = kwargs
        self.steps.append(step)
        self.used.update(references([args, kwargs]))
        if packet in INDEXING:
            sizes = self.values[args[0][1:]].shape or (1,)
            self.indices[names[-1]] = sizes[args[1] if packet.startswith("arg") else -1]
        return True


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        return references(list(value.values()))
    if isinstance(value, list):
        return set().union(*map(references, value)) if value else set()
    return {value[1:]} if isinstance(value, str) and value.startswith("%") else set()


def worth(value: torch.Tensor) -> bool:
    """Whether a value says something: not too large a tensor, and numbers of which most are
    ordinary."""
    if not 0 < value.numel() <= 4096:
        return False
    if not value.is_floating_point():
        return True
    wide = value.detach().double()
    return bool(wide.isfinite().double().mean() > 0.9) and bool(
        wide.nan_to_num(0, 0, 0).abs().max() < 2e3
    )


def ref(name: str) -> str:
    return "%" + name


def of_float(*ops: str) -> Callable[[Program], Step | None]:
    def draw(program: Program) -> Step | None:
        x = program.floating()
        return (program.random.choice(ops), [ref(x)], {}) if x else None

    return draw


def with_number(*ops: str) -> Callable[[Program], Step | None]:
    def draw(program: Program) -> Step | None:
        x = program.floating()
        return (program.random.choice(ops), [ref(x), program.number(x)], {}) if x else None

    return draw


def of_two(*ops: str) -> Callable[[Program], Step | None]:
    def draw(program: Program) -> Step | None:
        x, y = program.floating(), program.floating()
        return (program.random.choice(ops), [ref(x), ref(y)], {}) if x and y else None

    return draw


def of_integers(program: Program) -> Step | None:
    x = program.integer()
    if not x:
        return None
    op = program.random.choice(
        ("add.Tensor", "mul.Tensor", "bitwise_and.Scalar", "remainder.Scalar", "abs", "neg", "sum")
    )
    return (
        (op, [ref(x)], {}) if "." not in op else (op, [ref(x), program.random.randrange(1, 9)], {})
    )


def comparison(program: Program) -> Step | None:
    x, y = program.floating(), program.floating()
    op = program.random.choice(("gt", "lt", "ge", "le", "eq", "ne"))
    if not x or not y:
        return None
    if program.random.random() < 0.5:
        return f"{op}.Scalar", [ref(x), program.number(x)], {}
    return f"{op}.Tensor", [ref(x), ref(y)], {}


def where(program: Program) -> Step | None:
    mask, x, y = program.boolean(), program.floating(), program.floating()
    return ("where.self", [ref(mask), ref(x), ref(y)], {}) if mask and x and y else None


def of_bools(program: Program) -> Step | None:
    x = program.boolean()
    op = program.random.choice(("logical_not", "any", "all", "sum", "cumsum"))
    return (op, [ref(x), program.dim(x)] if op == "cumsum" else [ref(x)], {}) if x else None


def cast(program: Program) -> Step | None:
    x = program.any()
    to = program.random.choice(FLOATS * 3 + INTEGERS + ("bool",))
    return ("to.dtype", [ref(x), to], {}) if x else None


def bits(program: Program) -> Step | None:
    x = program.floating()
    if not x or program.random.random() < 0.5:
        return None
    to = {2: "int16", 4: "int32", 8: "int64"}[program.values[x].element_size()]
    return "view.dtype", [ref(x), to], {}


def reduction(program: Program) -> Step | None:
    x = program.floating()
    if not x:
        return None
    op = program.random.choice(
        """
            sum.dim_IntList mean.dim amax amin var.correction std.correction logsumexp any.dim
            argmax argmin cumsum softmax.int log_softmax.int prod.dim_int linalg_vector_norm
        """.split()
    )
    if op in ("amax", "amin") and program.backward:
        return (
            None  # Inductor finds no greatest element where it leaves out a cast (pytorch #195214)
        )
    dim = program.dim(x)
    if op in (
        "argmax",
        "argmin",
        "any.dim",
        "prod.dim_int",
        "cumsum",
        "softmax.int",
        "log_softmax.int",
    ):
        return op, [ref(x), dim], {}
    if op == "linalg_vector_norm":
        return op, [ref(x), 2, [dim]], {}
    keep = program.random.random() < 0.5
    if op.endswith("correction"):
        return op, [ref(x), [dim]], {"keepdim": keep}
    return op, [ref(x), [dim], keep], {}


def moved(program: Program) -> Step | None:
    x = program.any()
    if not x:
        return None
    value, draw = program.values[x], program.random
    size = value.shape[program.dim(x)] if value.dim() else 1
    choice = draw.choice(
        "transpose.int unsqueeze flip roll slice.Tensor select.int reshape cat clone".split()
    )
    dim = program.dim(x)
    if choice == "transpose.int":
        return choice, [ref(x), dim, program.dim(x)], {}
    if choice == "unsqueeze":
        return choice, [ref(x), dim], {}
    if choice == "flip":
        return choice, [ref(x), [dim]], {}
    if choice == "roll":
        return choice, [ref(x), [draw.randrange(1, 4)], [dim]], {}
    if choice == "slice.Tensor":
        return choice, [ref(x), dim, draw.randrange(2), None, draw.randrange(1, 3)], {}
    if choice == "select.int":
        return choice, [ref(x), dim, draw.randrange(size)], {}
    if choice == "reshape":
        return choice, [ref(x), [-1]], {}
    if choice == "cat":
        y = program.any(lambda v: v.dtype == value.dtype and v.shape == value.shape)
        return (choice, [[ref(x), ref(y)], dim], {}) if y else None
    return choice, [ref(x)], {}


def product(program: Program) -> Step | None:
    x, y = program.floating(2), program.floating(2)
    if not x or not y:
        return None
    op = program.random.choice(("mm", "matmul", "linear"))
    return op, [ref(x), ref(y)], {}


def normalised(program: Program) -> Step | None:
    x = program.floating()
    if not x or program.values[x].dim() == 0:
        return None
    return "layer_norm", [ref(x), [program.values[x].shape[-1]]], {}


def resampled(program: Program) -> Step | None:
    x = program.floating(4)
    if not x:
        return None
    size = [program.random.randrange(4, 12), program.random.randrange(4, 12)]
    op = program.random.choice(
        (
            "upsample_nearest2d",
            "upsample_bilinear2d",
            "upsample_bicubic2d",
            "_upsample_bilinear2d_aa",
        )
    )
    return op, [ref(x), size] + ([] if "nearest" in op else [program.random.random() < 0.5]), {}


def pooled(program: Program) -> Step | None:
    x = program.floating(4)
    if not x:
        return None
    op = program.random.choice(("avg_pool2d", "max_pool2d", "adaptive_avg_pool2d"))
    return op, [ref(x), [2, 2]], {}


def attention(program: Program) -> Step | None:
    x = program.floating(3)
    return ("scaled_dot_product_attention", [ref(x)] * 3, {}) if x else None


def drawn(program: Program) -> Step | None:
    x = program.floating()
    if program.random.random() < 0.7:  # what hangs on drawn numbers has no gold
        return None
    op = program.random.choice(("dropout", "rand"))
    if not x:
        return None
    return (op, [ref(x), 0.3, True], {}) if op == "dropout" else (op, [[4]], {})


def gathered(program: Program) -> Step | None:
    x = program.floating()
    if not x or not program.values[x].dim():
        return None
    dim = program.dim(x)
    # No other integers: which of them are out of range may turn on the last bit of a float.
    names = [
        name for name, bound in program.indices.items() if bound <= program.values[x].shape[dim]
    ]
    if not names:
        return None
    index = program.random.choice(names)
    op = program.random.choice(("gather", "index_select", "scatter_add"))
    return op, [ref(x), dim, ref(index)] + ([ref(x)] if op == "scatter_add" else []), {}


def ordered(program: Program) -> Step | None:
    x = program.floating()
    if not x or program.random.random() < 0.5:
        return None
    return ("sort", [ref(x)], {}) if program.random.random() < 0.5 else ("topk", [ref(x), 1], {})


TEMPLATES: list[Callable[[Program], Step | None]] = [
    of_float(*"neg abs exp sin cos tanh sigmoid relu gelu silu erf expm1 floor ceil trunc".split()),
    of_float(
        *"""
            sqrt rsqrt log log1p reciprocal round softplus elu mish atan square leaky_relu
        """.split()
    ),
    of_float("sum", "mean"),
    with_number(
        *"""
            add.Tensor mul.Tensor sub.Tensor div.Tensor pow.Tensor_Scalar remainder.Scalar
            rsub.Scalar
        """.split()
    ),
    # No floor_divide, which Inductor takes for the floor of a quotient that it has rounded (pytorch
    # #197895).
    with_number("clamp", "add.Tensor", "mul.Tensor", "fmod.Scalar"),
    of_two(
        *"""
            add.Tensor sub.Tensor mul.Tensor div.Tensor maximum minimum atan2 hypot copysign.Tensor
        """.split()
    ),
    of_two("add.Tensor", "mul.Tensor", "fmod.Tensor", "logaddexp"),
    *(of_integers, comparison, where, of_bools, cast, cast, bits, reduction, reduction),
    *(moved, moved, product, normalised, resampled, pooled, attention, drawn, gathered, ordered),
]


def make_program(seed: int, number: int) -> dict[str, Any]:
    program = Program(seed, number)
    draw = program.random
    for i in range(draw.randrange(1, 4)):
        dtype = draw.choice(FLOATS[:3] * 3 + FLOATS[3:] + ("int64", "int32", "bool"))
        fill: dict[str, Any] = {"normal": {}, "seed": number}
        if dtype in INTEGERS:
            fill = {"integers": {"low": 0, "high": 4}, "seed": number}
        elif dtype == "bool":
            fill = {"integers": {"low": 0, "high": 2}, "seed": number}
        shape = draw.choice(SHAPES)
        kind = getattr(torch, dtype)
        value = (
            torch.randn(shape).to(kind)
            if kind.is_floating_point
            else torch.randint(0, 2, shape).to(kind)
        )
        program.values[f"x{i}"] = value.requires_grad_(program.backward and kind.is_floating_point)
        program.inputs[f"x{i}"] = {"dtype": dtype, "shape": list(shape), "fill": fill}
        if dtype == "int64":
            program.indices[f"x{i}"] = fill["integers"]["high"]
    for _ in range(draw.randrange(4, 31)):
        program.grow(TEMPLATES)
    program.inputs = {name: spec for name, spec in program.inputs.items() if name in program.used}
    outputs = [name for name in program.values if name.startswith("v") and name not in program.used]
    case: dict[str, Any] = {
        "format": 1,
        "title": f"Random program {number} of seed {seed}",
        "requires": {"eager": "returns"},
        "seed": number,
        "inputs": program.inputs,
        "steps": program.steps,
        "outputs": outputs,
    }
    if program.backward:
        add_backward(program, case)
    elif program.inputs and draw.random() < 0.15:
        name = draw.choice(list(program.inputs))
        case["calls"] = [
            {},
            {name: {"fill": {**program.inputs[name]["fill"], "seed": number + 1_000_000}}},
        ]
    return case


def add_backward(program: Program, case: dict[str, Any]) -> None:
    """A backward from every output that has one, so that AOT differentiates what eager does, and no
    more."""
    of = [name for name in case["outputs"] if program.values[name].requires_grad]
    leaves = {
        name: value
        for name, value in program.values.items()
        if name in program.inputs and value.requires_grad
    }
    if not of or not leaves:
        return
    try:
        ones = [torch.ones_like(program.values[name]) for name in of]
        found = torch.autograd.grad(
            [program.values[name] for name in of], list(leaves.values()), ones, allow_unused=True
        )
    except (RuntimeError, NotImplementedError):
        return
    for name, gradient in zip(leaves, found):
        # Of an input that none of them hangs on, AOT has zeros where eager has None.
        if gradient is None:
            return
        case["inputs"][name]["requires_grad"] = True
    case["backward"] = {"of": of, "with": "ones"}


def make(folder: Path, programs: int, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(programs):
        text = json.dumps(make_program(seed, number), indent=1)
        (folder / f"random-{number:04}.json").write_text(text + "\n")


def reason_of(record: dict[str, Any]) -> str:
    differences = record.get("differences") or [{}]
    return str(record.get("reason") or differences[0].get("reason", ""))


def rates(log: Path) -> None:
    by_path: dict[str, Counter[str]] = {}
    failing = []
    for line in log.read_text().splitlines():
        record = json.loads(line)
        if record["type"] != "verdict":
            continue
        status = "weak" if record.get("weak") else record["status"]
        by_path.setdefault(record["path"], Counter())[status] += 1
        if (
            status not in ("conform", "weak")
            and record.get("standing", "new") == "new"
            and status not in QUIET
        ):
            failing.append((record["path"], record["id"], record["status"], reason_of(record)))
    for path, counts in sorted(by_path.items()):
        judged = sum(n for status, n in counts.items() if status not in QUIET)
        fails = sum(1 for each in failing if each[0] == path)
        share = 100 * fails / judged if judged else 0.0
        values = sum(1 for each in failing if each[0] == path and each[2] in OF_VALUES)
        print(
            f"{path}: {fails} of {judged} fail, {share:.2f} %, {values} by values, "
            f"{100 * values / max(judged, 1):.2f} %  "
            f"({', '.join(f'{n} {s}' for s, n in counts.most_common())})"
        )
    for _, identity, status, reason in sorted(failing):
        print(f"{identity}  {status}: {reason[:230]}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    maker = commands.add_parser("make")
    maker.add_argument("folder", type=Path)
    maker.add_argument("--programs", type=int, default=620)
    maker.add_argument("--seed", type=int, default=1)
    reader = commands.add_parser("rates")
    reader.add_argument("log", type=Path)
    given = parser.parse_args()
    if given.command == "make":
        make(given.folder, given.programs, given.seed)
    else:
        rates(given.log)


if __name__ == "__main__":
    main()
