"""One call as a step of the protocol: an operator, a public function, an index, a number.

A call is an operator where it makes exactly one call of aten, with the same arguments; else it
stays what it is, under a public name that Dynamo takes."""

import functools
import operator
import re
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map_only, tree_unflatten

from . import compat, worker

worker.load()

from lockstep_worker.lowering import protocol_value  # noqa: E402  (its package is loaded above)
from lockstep_worker.names import public_function  # noqa: E402
from lockstep_worker.problems import Malformed, Unsupported  # noqa: E402

#: Python's types → the dtypes that torch takes them for.
_DTYPES = {int: "int64", float: "float64", bool: "bool"}
#: Python's operators on numbers → those of the format.
SCALARS: dict[Any, str] = {
    **{
        getattr(operator, word): word
        for word in "add sub mul neg abs eq ne lt le gt ge mod pow".split()
    },
    operator.truediv: "div",
    operator.floordiv: "floordiv",
    operator.and_: "and",
    operator.or_: "or",
    operator.not_: "not",
}
#: Functions of sizes, by their names without underscores, whichever module has them.
OF_SIZES = {
    "sym_max": "max",
    "sym_min": "min",
    "sym_float": "float",
    "sym_int": "int",
    "sym_not": "not",
    "ceil": "ceil",
    "floor": "floor",
    "sqrt": "sqrt",
}
#: What stands for Python's operators among torch's public functions, where it is no operator.
PUBLIC = {
    f"__{word}__": f"torch.{name}"
    for word, name in (
        *((each, each) for each in "eq ne lt le gt ge add sub mul neg abs pow matmul".split()),
        ("truediv", "true_divide"),
        ("floordiv", "floor_divide"),
        ("mod", "remainder"),
        ("and", "bitwise_and"),
        ("or", "bitwise_or"),
        ("xor", "bitwise_xor"),
        ("invert", "bitwise_not"),
        ("lshift", "bitwise_left_shift"),
        ("rshift", "bitwise_right_shift"),
    )
}


class Unsayable(Exception):
    """What no case can say; the message is one sentence, `source` the place in the user's
    source."""

    source: dict | None = None


@dataclass(frozen=True, eq=False)
class Ref:
    """A value that has a name; `like` is a fake tensor or a number like it, None if unknown."""

    name: str
    like: Any


class Steps:
    """Writes steps. With `operators` off every call stays a public function."""

    def __init__(self, operators: bool = True) -> None:
        self.operators = operators
        self.steps: list[dict] = []
        self.taken: set[str] = set()
        self.context: dict = {}
        self.source: dict | None = None
        self._known: dict[Any, Any] = {}

    def inner(self) -> "Steps":
        """Those of a sub-program, which have names of their own."""
        inner = Steps(self.operators)
        inner.taken, inner._known = self.taken, self._known
        return inner

    def fresh(self, stem: str) -> str:
        """A name that nobody has: letters, digits and _, at most 60 of them."""
        stem = re.sub(r"\W", "_", stem, flags=re.ASCII).strip("_")[:48] or "v"
        if stem[0].isdigit():
            stem = f"v{stem}"
        name, count = stem, 1
        while name in self.taken:
            count += 1
            name = f"{stem}_{count}"
        self.taken.add(name)
        return name

    def add(self, step: dict) -> None:
        """Adds a step in the context that is in force."""
        if self.source is not None:
            step = {**step, "source": self.source}
        if not self.context:
            self.steps.append(step)
            return
        last = self.steps[-1] if self.steps else {}
        if last.get("with") != self.context:
            self.steps.append({"with": dict(self.context), "steps": []})
        self.steps[-1]["steps"].append(step)

    def raises(self) -> None:
        """Says that the last step has raised: it would have a result, which nobody uses."""
        last = self.steps[-1] if self.steps else {}
        last = last["steps"][-1] if "with" in last else last
        if last.get("let") == []:
            last["let"] = [None]

    # A call ---------------------------------------------------------------------------------------

    def call(
        self, target: Any, args: tuple, kwargs: dict, result: Any, stem: str, used: Any = None
    ) -> Any:
        """Adds the step of a call, whose result is like `result`; what stands for that: a `Ref`, a
        list of them, or a constant. `used` has the places of a list that somebody uses; None: all.
        Raises `Unsayable`."""
        if target is operator.getitem:
            return self._get(args[0], args[1], result, stem)
        if target is operator.setitem:
            return self._set(*args)
        if _is_number(result) and not _tensors((args, kwargs)):
            return self._scalar(target, args, kwargs, result, stem)
        if target in (torch.tensor, torch.as_tensor) and not _refs((args, kwargs)):
            return self.literal(target(*args, **kwargs), stem)
        step = self._as_operator(target, args, kwargs, result)
        if step is None:
            step = self._as_size(target, args, kwargs, result) or self._as_function(
                target, args, kwargs
            )
        return self._named(step, result, stem, used)

    def _named(self, step: dict, result: Any, stem: str, used: Any) -> Any:
        """Adds a step and names its results."""
        if isinstance(result, (tuple, list)):
            if len(result) < 2 and "op" not in step:
                raise Unsayable(f"{step['call']} returns a list of one result")
            if len(result) == 1:
                step = {**step, "unpacks": True}
            names = [
                self.fresh(f"{stem}_{at}") if used is None or at in used else None
                for at in range(len(result))
            ]
            self.taken |= {f"{name}_list" for name in names}  # of what is unpacked
            self.add({"let": names, **step})
            return [None if n is None else Ref(n, like) for n, like in zip(names, result)]
        if result is None:
            self.add({"let": [], **step})
            return None
        name = self.fresh(stem)
        self.add({"let": [name], **step})
        return Ref(name, result)

    def literal(self, tensor: torch.Tensor, stem: str) -> Ref:
        """Adds a tensor of the program's own; what stands for it."""
        name = self.fresh(stem)
        self.add({"let": [name], "tensor": {"literal": tensor.detach().clone()}})
        return Ref(name, compat.fakes()(tensor))

    def _as_operator(self, target: Any, args: tuple, kwargs: dict, result: Any) -> dict | None:
        """The call as one operator with the same arguments; None if it is not that."""
        refs = _refs((args, kwargs))
        if not isinstance(target, torch._ops.OpOverload):
            if not self.operators or any(_is_number(each.like) for each in refs):
                return None
        made = self._operator(target, args, kwargs, result, list(dict.fromkeys(refs)))
        if made is None:
            return None
        name, own, named, several = made
        if several != (len(result) if isinstance(result, (tuple, list)) else None):
            return None
        order = list(dict.fromkeys(refs))

        def put(value: Any) -> Any:
            return protocol(tree_map_only(_Place, lambda place: order[place.number], value))

        try:
            return {
                "op": name,
                "args": [put(each) for each in own],
                "kwargs": {key: put(each) for key, each in named.items()},
            }
        except Unsayable:
            return None

    def _operator(
        self, target: Any, args: tuple, kwargs: dict, result: Any, order: list[Ref]
    ) -> Any:
        """The only operator that a call makes: see `_one_operator`."""
        if isinstance(target, torch._ops.OpOverload):
            return _itself(target, args, kwargs, result, order)
        if compat.is_transform(target):
            return None
        try:
            key = _key(target, args, kwargs)
            if key not in self._known:
                self._known[key] = _one_operator(target, args, kwargs, order)
            return self._known[key]
        except TypeError:  # an argument that cannot be looked up
            return _one_operator(target, args, kwargs, order)

    def _as_size(self, target: Any, args: tuple, kwargs: dict, result: Any) -> dict | None:
        """A size that may vary, or several."""
        if kwargs or not args or not isinstance(args[0], Ref):
            return None
        word = getattr(target, "__name__", "")
        if target is getattr and args[1:] == ("shape",) or word == "size" and len(args) == 1:
            return None
        if word in ("size", "stride") and len(args) == 2 and _is_number(result):
            return {
                "op": f"aten::sym_{word}.int",
                "args": [protocol(each) for each in args],
                "kwargs": {},
            }
        if word == "numel" and _is_number(result):
            return {"op": "aten::sym_numel.default", "args": [protocol(args[0])], "kwargs": {}}
        return None

    def _as_function(self, target: Any, args: tuple, kwargs: dict) -> dict:
        """The call under its public name. Raises `Unsayable`."""
        name = public_name(target)
        if name is None:
            raise Unsayable(
                f"it calls {_called(target)}, which is neither one operator of aten nor a public "
                "function of torch"
            )
        return {
            "call": name,
            "args": [protocol(each) for each in args],
            "kwargs": {key: protocol(each) for key, each in kwargs.items()},
        }

    # Indices and numbers --------------------------------------------------------------------------

    def _get(self, subject: Any, index: Any, result: Any, stem: str) -> Any:
        if isinstance(subject, (list, tuple)):
            return subject[index]
        if isinstance(result, (int, float, bool)) or compat.symbol(result) is not None:
            raise Unsayable("it takes a number out of what is no tensor")
        name = self.fresh(stem)
        self.add({"let": [name], "get": protocol(subject), "index": _index(index)})
        return Ref(name, result)

    def _set(self, subject: Any, index: Any, to: Any) -> None:
        self.add({"set": protocol(subject), "index": _index(index), "to": protocol(to)})

    def _scalar(self, target: Any, args: tuple, kwargs: dict, result: Any, stem: str) -> Any:
        if not _refs((args, kwargs)):
            return target(*args, **kwargs)
        if target is torch.sym_sum and not kwargs and isinstance(args[0], (list, tuple)):
            first, *others = args[0]
            for at, each in enumerate(others):
                like = result if at == len(others) - 1 else None
                first = self._scalar(operator.add, (first, each), {}, like, stem)
            return first
        word = SCALARS.get(target) or OF_SIZES.get(getattr(target, "__name__", "").lstrip("_"))
        if word is None or kwargs:
            raise Unsayable(f"it computes {_called(target)} of sizes")
        name = self.fresh(stem)
        self.add({"let": [name], "scalar": [word, *(protocol(each) for each in args)]})
        return Ref(name, result)


@dataclass(frozen=True)
class _Place:
    """The argument at this place, in the form of a call that is remembered."""

    number: int


def _itself(target: Any, args: tuple, kwargs: dict, result: Any, order: list[Ref]) -> Any:
    """The same of what is an operator; None if it is not one of aten."""
    name = compat.overload(target)
    if name is None or not name.startswith("aten::"):
        return None
    places = {each: _Place(at) for at, each in enumerate(order)}
    own, named = tree_map_only(Ref, lambda each: places[each], (args, kwargs))
    return name, own, named, len(result) if isinstance(result, (tuple, list)) else None


def _one_operator(target: Any, args: tuple, kwargs: dict, order: list[Ref]) -> Any:
    """The only operator that a call makes: its name, its arguments with `_Place`, how many results
    it has (None: one, or none). None if that is not so."""
    leaves, shape = tree_flatten((args, kwargs))

    def function(*tensors: torch.Tensor) -> Any:
        given = dict(zip(order, tensors, strict=True))
        own, named = tree_unflatten([given.get(each, each) if isinstance(each, Ref) else each
                                     for each in leaves], shape)  # fmt: skip
        return target(*own, **named)

    nodes = compat.operators_of(function, [each.like for each in order])
    if nodes is None:
        return None
    places: dict[Any, Any] = {}
    calls = []
    for node in nodes:
        if node.op == "placeholder":
            places[node] = _Place(len(places))
        elif node.op == "call_function" and node.target is not operator.getitem:
            calls.append(node)
        elif node.op not in ("call_function", "output"):
            return None
    if len(calls) != 1 or any(n not in places for n in calls[0].all_input_nodes):
        return None
    (call,), returned = calls, nodes[-1].args[0]
    name = compat.overload(call.target)
    if name is None or not name.startswith("aten::"):
        return None
    several = None
    if isinstance(returned, (tuple, list)):
        taken = [each.args for each in returned if each.target is operator.getitem]
        if taken != [(call, at) for at in range(len(returned))]:
            return None
        several = len(returned)
    elif returned is not call and returned is not None and returned not in places:
        return None
    own, named = torch.fx.map_arg((call.args, call.kwargs), lambda node: places[node])
    return name, own, named, several


def _key(target: Any, args: tuple, kwargs: dict) -> Any:
    """What two calls have in common that become the same operator."""
    leaves, shape = tree_flatten((args, kwargs))
    order: dict[str, int] = {}
    parts: list[Any] = []
    for each in leaves:
        if isinstance(each, Ref):
            like = each.like
            parts.append((order.setdefault(each.name, len(order)), like.dtype, like.shape,
                          like.stride(), like.requires_grad))  # fmt: skip
        else:
            parts.append((type(each), repr(each)))
    return target, str(shape), tuple(parts)


def protocol(value: Any) -> Any:
    """A value of the protocol. Raises `Unsayable`."""
    return protocol_value(value, _known, Unsayable)


def _known(value: Any) -> Any:
    """What only a captured program is given: a value of its own, or a type in the place of a
    dtype."""
    if isinstance(value, Ref):
        return {"ref": value.name}
    return {"dtype": _DTYPES[value]} if isinstance(value, type) and value in _DTYPES else None


def _index(index: Any) -> list:
    """What is between the brackets. Raises `Unsayable`."""
    items: list[Any] = []
    for each in index if isinstance(index, tuple) else (index,):
        if each is Ellipsis:
            items.append({"ellipsis": True})
        elif each is None:
            items.append({"newaxis": True})
        elif isinstance(each, slice):
            items.append({"slice": [protocol(p) for p in (each.start, each.stop, each.step)]})
        elif isinstance(each, list) and not all(type(i) is int for i in each):
            raise Unsayable("it is indexed by a list of what are no numbers")
        elif isinstance(each, (Ref, bool, int, list)):
            items.append(protocol(each))
        else:
            raise Unsayable(f"it is indexed by a {type(each).__name__}")
    return items


@functools.cache
def _public() -> dict[int, str]:
    """Torch's public functions: id → name, the shortest."""
    names: dict[int, str] = {}
    for functions in torch.overrides.get_overridable_functions().values():
        for function in functions:
            name = torch.overrides.resolve_name(function)
            if name and (id(function) not in names or len(name) < len(names[id(function)])):
                names[id(function)] = name
    return names


def public_name(target: Any) -> str | None:
    """The name under which a case calls a function; None where it has none."""
    word = getattr(target, "__name__", "")
    if not isinstance(word, str):
        return None
    home = getattr(target, "__objclass__", None)
    spelled = PUBLIC.get(f"__{word.strip('_')}__")
    if getattr(operator, word, None) is target or word.startswith("__") and spelled:
        return spelled
    candidates = [_public().get(id(target)), f"torch.Tensor.{word}"]
    if home is None and not isinstance(target, type(torch.Tensor.add)):
        candidates = [candidates[0], f"torch.nn.functional.{word}", f"torch.{word}"]
    for name in candidates:
        if name is None:
            continue
        try:
            found = public_function(name)
        except (Malformed, Unsupported):
            continue
        if found is target or found == target:
            return name
    return None


def _called(target: Any) -> str:
    word = getattr(target, "__qualname__", None) or getattr(target, "__name__", None)
    module = getattr(target, "__module__", None)
    return f"{module}.{word}" if module and word else str(target)


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float)) or compat.symbol(value) is not None


def _refs(value: Any) -> list[Ref]:
    found: list[Ref] = []
    _walk(value, found)
    return found


def _walk(value: Any, found: list[Ref]) -> None:
    if isinstance(value, Ref):
        found.append(value)
    elif isinstance(value, (list, tuple)):
        for each in value:
            _walk(each, found)
    elif isinstance(value, dict):
        for each in value.values():
            _walk(each, found)
    elif isinstance(value, slice):
        _walk((value.start, value.stop, value.step), found)


def _tensors(value: Any) -> list[Ref]:
    return [each for each in _refs(value) if isinstance(each.like, torch.Tensor)]
