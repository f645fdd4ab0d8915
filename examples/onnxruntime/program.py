"""A program of the protocol as a torch.nn.Module, whose `forward` takes the steps one by one: what
torch.export traces. Nothing of a program is evaluated as code: names are looked up."""

import math
import operator
import re
from collections.abc import Callable

import torch
from tensors import Malformed, Unsupported, dtype, number

_NAME = re.compile(r"\w+", re.ASCII)
_SCALARS: dict[str, Callable] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "neg": operator.neg,
    "abs": abs,
    "min": min,
    "max": max,
    "sqrt": math.sqrt,
    "floor": math.floor,
    "ceil": math.ceil,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": operator.not_,
    "int": int,
    "float": float,
    "bool": bool,
}
_ENUMERATIONS = ("layout", "memory_format")


def operator_of(name: str):
    """`aten::add.Tensor` as torch.ops has it. Raises `Unsupported`."""
    space, _, rest = name.partition("::")
    packet, _, overload = rest.partition(".")
    if not all(_NAME.fullmatch(part) for part in (space, packet, overload)):
        raise Malformed(f"{name!r:.80} names no operator")
    try:
        return getattr(getattr(getattr(torch.ops, space), packet), overload)
    except AttributeError:
        raise Unsupported(f"this torch has no {name}") from None


def function_of(name: str):
    """A public function by its dotted name, if torch lets it be overridden. Raises
    `Unsupported`."""
    found: object = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    allowed = {
        f for functions in torch.overrides.get_overridable_functions().values() for f in functions
    }
    if not callable(found) or found not in allowed:
        raise Unsupported(f"this torch has no function {name:.80}")
    return found


class Program(torch.nn.Module):
    """`numbers` are the inputs that are no tensors: they are constants of what is exported.
    `literals` are those of the steps, in their order."""

    def __init__(
        self, program: dict, tensors: list[str], numbers: dict, literals: list[torch.Tensor]
    ) -> None:
        super().__init__()
        self.program, self.tensors, self.numbers, self.literals = (
            program,
            tensors,
            numbers,
            literals,
        )
        self.called: dict = {}
        self._resolve(program["steps"])
        default = (program.get("context") or {}).get("default_dtype")
        self.default_dtype = dtype(default) if default else torch.get_default_dtype()
        self._check(program.get("context") or {})
        if program.get("backward"):
            raise Unsupported("gradients")
        if program.get("carry"):
            raise Unsupported("what one call hands over to the next")
        if not all(isinstance(name, str) for name in program["outputs"]):
            raise Unsupported("outputs that are constants")
        if len(set(program["outputs"])) < len(program["outputs"]):
            raise Unsupported("an output that comes twice")

    @staticmethod
    def _check(context: dict) -> None:
        """Without gradients the grad and inference modes mean nothing."""
        for key in context:
            if key not in ("grad", "inference", "default_dtype"):
                raise Unsupported(f"the context {key:.40}")

    def _resolve(self, steps: list) -> None:
        for step in steps:
            if "op" in step:
                self.called[step["op"]] = operator_of(step["op"])
            elif "call" in step:
                self.called[step["call"]] = function_of(step["call"])
            elif "with" in step:
                self._check(step["with"])
                if "default_dtype" in step["with"]:
                    raise Unsupported("a default dtype for some of the steps")
                self._resolve(step["steps"])
            elif "grad" in step:
                raise Unsupported("gradients")
            elif "apply" in step:
                raise Unsupported("operators that take sub-programs")

    def forward(self, *inputs):
        values = {**self.numbers, **dict(zip(self.tensors, inputs))}
        literals = iter(self.literals)
        before = torch.get_default_dtype()
        torch.set_default_dtype(self.default_dtype)
        try:
            self._run(self.program["steps"], values, literals)
        finally:
            torch.set_default_dtype(before)
        return tuple(values[name] for name in self.program["outputs"])

    def _run(self, steps: list, values: dict, literals) -> None:
        for step in steps:
            if "with" in step:
                self._run(step["steps"], values, literals)
                continue
            result, names = self._step(step, values, literals), step.get("let") or []
            for name, each in zip(names, [result] if len(names) == 1 else result if names else []):
                if name is not None:
                    values[name] = each

    def _step(self, step: dict, values: dict, literals):
        def value(described):
            return self._value(described, values)

        if "op" in step or "call" in step:
            called = self.called[step.get("op") or step["call"]]
            return called(
                *map(value, step["args"]),
                **{name: value(each) for name, each in step["kwargs"].items()},
            )
        if "tensor" in step:
            return torch.ops.aten.lift_fresh_copy.default(next(literals))
        if "get" in step:
            return value(step["get"])[self._index(step["index"], values)]
        if "set" in step:
            value(step["set"])[self._index(step["index"], values)] = value(step["to"])
            return None
        name, *operands = step["scalar"]
        if name not in _SCALARS:
            raise Malformed(f"no scalar operator {name!r:.40}")
        return _SCALARS[name](*map(value, operands))

    def _index(self, items: list, values: dict) -> tuple:
        def one(item):
            if isinstance(item, dict) and "ellipsis" in item:
                return ...
            if isinstance(item, dict) and "newaxis" in item:
                return None
            if isinstance(item, dict) and "slice" in item:
                return slice(*(self._value(part, values) for part in item["slice"]))
            return self._value(item, values)

        return tuple(one(item) for item in items)

    def _value(self, described, values: dict):
        if isinstance(described, list):
            return [self._value(each, values) for each in described]
        if not isinstance(described, dict):
            return described
        ((key, inner),) = described.items()
        if key == "ref":
            return values[inner]
        return constant(key, inner)


def constant(key: str, inner):
    """A value of the protocol that is no list and no reference. Raises `Malformed` and
    `Unsupported`."""
    if key == "float":
        return number(inner)
    if key == "complex":
        return complex(*map(number, inner))
    if key == "str":
        return inner
    if key == "dtype":
        return dtype(inner)
    if key == "device":
        return torch.device(inner)
    if key in _ENUMERATIONS and isinstance(getattr(torch, inner, None), getattr(torch, key)):
        return getattr(torch, inner)
    raise Malformed(f"no value: {key!r:.40}")


def literals_of(steps: list) -> list[dict]:
    """The views of a program's literal tensors, in their order."""
    return [
        view
        for step in steps
        for view in (
            literals_of(step["steps"])
            if "with" in step
            else [step["tensor"]]
            if "tensor" in step
            else []
        )
    ]
