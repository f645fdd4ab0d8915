"""The graph that Dynamo hands to a backend, as steps."""

import functools
import operator
import re
from collections.abc import Iterator
from typing import Any

import torch

from . import applied, compat, transforms
from .sources import place_of
from .steps import Ref, Steps, Unsayable


class Written:
    """A program: `inputs` in their order, `steps`, and `outputs` (`Ref`s and constants); `route`
    says what it was written from: Dynamo's `graph`, a `trace` of what was called, or the
    `operators` below transforms."""

    def __init__(self, inputs: list[str], steps: Steps, outputs: list[Any], route: str) -> None:
        self.inputs, self.steps, self.outputs, self.route = inputs, steps.steps, outputs, route
        #: What depends on elements of tensors and is in no step: the place, and what it is.
        self.unsaid: list[tuple[dict | None, str]] = []

    def program(self) -> dict:
        """The program of the protocol; outputs that are no names are in `outputs` alone."""
        named = [each.name for each in self.outputs if isinstance(each, Ref)]
        return {"inputs": self.inputs, "steps": self.steps, "outputs": named}


class Inputs:
    """The names of what a graph is given: `names` by its placeholders (None: a number), and the
    `attributes` that it holds."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        steps = Steps()
        self.names: list[str | None] = []
        self.attributes: dict[str, torch.Tensor] = {}
        self.targets: dict[str, str] = {}
        for node in module.graph.nodes:
            if node.op == "placeholder":
                is_tensor = isinstance(node.meta.get("example_value"), torch.Tensor)
                self.names.append(steps.fresh(input_name(node)) if is_tensor else None)
            elif node.op == "get_attr" and node.target not in self.targets:
                found: Any = module
                for part in node.target.split("."):
                    found = getattr(found, part)
                if isinstance(found, torch.Tensor):
                    name = steps.fresh(node.target.split(".")[-1])
                    self.targets[node.target] = name
                    self.attributes[name] = found

    def all(self) -> list[str]:
        """Every name."""
        return [*(name for name in self.names if name is not None), *self.attributes]

    def of(self, args: tuple) -> dict[str, torch.Tensor]:
        """The tensors of a call by their names."""
        given = zip(self.names, args, strict=True)
        return {name: each for name, each in given if name is not None} | self.attributes


def write(module: torch.fx.GraphModule, inputs: Inputs, operators: bool = True) -> Written:
    """The steps of a graph. Raises `Unsayable`, whose `source` is the place in the user's
    source."""
    writer = Writer(module, inputs, Steps(operators))
    writer.steps.taken = set(inputs.all())
    writer.walk(iter(module.graph.nodes))
    return Written(inputs.all(), writer.steps, writer.outputs, "graph")


class Writer:
    """Writes the nodes of a graph, or of a part of it, as steps; `values` is what stands for
    them."""

    def __init__(self, module: torch.fx.GraphModule, inputs: Inputs, steps: Steps) -> None:
        self.module, self.inputs, self.steps = module, inputs, steps
        self.given = iter(inputs.names)
        self.values: dict[Any, Any] = {}
        self.outputs: list[Any] = []
        self.grad: bool | None = None  # whether gradients are on where the graph begins
        self.modes: list[tuple[Any, dict]] = []  # nodes that entered a context → what it says

    @functools.cached_property
    def masks(self) -> set[Any]:
        """The nodes that are written nowhere."""
        return applied.only_for_masks(self.module.graph)

    def walk(self, nodes: Iterator[Any]) -> None:
        """Writes these nodes in their order."""
        for node in nodes:
            self.next(node, nodes)

    def next(self, node: Any, rest: Iterator[Any]) -> None:
        """Writes a node; if it begins a transform, takes those that are inside of it from the
        rest."""
        if node in self.masks:
            return
        self.steps.source = place_of(node.meta.get("stack_trace"))
        try:
            if not transforms.write(self, node, rest):
                self.node(node)
        except Unsayable as error:
            error.source = error.source or self.steps.source
            raise

    def transformed(self) -> "Writer":
        """What writes the nodes inside of a transform: it knows the values outside. There tensors
        belong to the transform, and cannot show which operator a call is."""
        inner = Writer(self.module, self.inputs, self.steps.inner())
        inner.steps.operators = False
        inner.values, inner.masks = dict(self.values), self.masks
        return inner

    def inside(self, module: torch.fx.GraphModule, given: list[Any]) -> dict:
        """A graph in this one as a sub-program, with what it is given: None for an input of its
        own, else a value of this program. Raises `Unsayable`."""
        inner = _Inner(self, module, given)
        inner.walk(iter(module.graph.nodes))
        return applied.program(inner.own, inner.steps, inner.outputs)

    def node(self, node: Any) -> None:
        if node.op == "placeholder":
            self.input(node)
        elif node.op == "get_attr":
            self.attribute(node)
        elif node.op == "output":
            self.outputs = [self.value(each) for each in node.args[0]]
        elif node.op in ("call_function", "call_method"):
            self.call(node)
        else:
            raise Unsayable(f"it calls the module {node.target} as a whole")

    def input(self, node: Any) -> None:
        like, name = node.meta.get("example_value"), next(self.given)
        if name is not None:
            self.values[node] = Ref(name, like)
            return
        symbol = compat.symbol(like)
        if symbol is None or not symbol.isidentifier():
            raise Unsayable("it is given a number that is no size of a tensor")
        # The tensor that has this size may come later: its step is written when it is used.
        self.values[node] = symbol

    def size(self, node: Any, symbol: str) -> Ref:
        """A size that may vary, read from the first tensor that has it."""
        for value in list(self.values.values()):
            like = value.like if isinstance(value, Ref) else None
            if not isinstance(like, torch.Tensor) or value.name not in self.inputs.names:
                continue
            for at, size in enumerate(like.shape):
                if compat.symbol(size) == symbol:
                    name = self.steps.fresh(f"size_{value.name}_{at}")
                    arguments = [{"ref": value.name}, at]
                    step = {"let": [name], "op": "aten::sym_size.int", "args": arguments}
                    self.steps.add({**step, "kwargs": {}})
                    self.values[node] = Ref(name, node.meta["example_value"])
                    return self.values[node]
        raise Unsayable("it is given a number that is no size of a tensor")

    def attribute(self, node: Any) -> None:
        found = getattr(self.module, node.target, None) if "." not in node.target else None
        if isinstance(found, torch.fx.GraphModule):
            self.values[node] = found
            return
        name = self.inputs.targets.get(node.target)
        if name is None:
            raise Unsayable(f"it holds {node.target}, which is no tensor")
        like = node.meta.get("example_value")
        self.values[node] = Ref(name, self.inputs.attributes[name] if like is None else like)

    def value(self, value: Any) -> Any:
        """An argument with what stands for its nodes."""
        if isinstance(value, torch.fx.Node):
            if value in self.masks:
                return getattr(self.module, value.target) if value.op == "get_attr" else None
            if value not in self.values:
                raise Unsayable("it uses what is inside of a transform outside of it")
            found = self.values[value]
            return self.size(value, found) if isinstance(found, str) else found
        if isinstance(value, (list, tuple)):
            made = [self.value(each) for each in value]
            return tuple(made) if isinstance(value, tuple) else made
        if isinstance(value, dict):
            return {key: self.value(each) for key, each in value.items()}
        if isinstance(value, slice):
            return slice(*(self.value(each) for each in (value.start, value.stop, value.step)))
        return value

    def call(self, node: Any) -> None:
        if node.op == "call_function" and self.mode(node):
            return
        target = node.target
        if node.op == "call_method":
            target = getattr(torch.Tensor, target)
        if target is getattr and len(node.args) == 2:
            target, node_args = _property(node.args[1]), node.args[:1]
        else:
            node_args = node.args
        args, kwargs = self.value(node_args), self.value(node.kwargs)
        result = node.meta.get("example_value")  # of what returns nothing, none
        used = None
        if node.users and all(_takes_one(user) for user in node.users):
            used = {user.args[1] for user in node.users}
        if isinstance(result, torch.Size) or _is_sizes(result):
            self.values[node] = self.sizes(node, args, result)
            return
        if compat.is_higher_order(target):
            self.values[node] = applied.write(self, node, args, kwargs)
            return
        self.values[node] = self.steps.call(target, args, kwargs, result, node.name, used)

    def sizes(self, node: Any, args: Any, result: Any) -> list:
        """All sizes of a tensor, each by a step of its own where it may vary; or some that there
        are already."""
        if node.target is torch.Size:
            return list(args[0])
        found: list[Any] = []
        for at, size in enumerate(result):
            if compat.symbol(size) is None:
                found.append(int(size))
                continue
            name = self.steps.fresh(f"{node.name}_{at}")
            arguments = [{"ref": args[0].name}, at]
            self.steps.add(
                {"let": [name], "op": "aten::sym_size.int", "args": arguments, "kwargs": {}}
            )
            found.append(Ref(name, size))
        return found

    def mode(self, node: Any) -> bool:
        """Whether a node changes a mode instead of computing, and the steps after it are in it; or
        does neither."""
        target, context = node.target, dict(self.steps.context)
        if target is compat.COUNTS_USES:
            return True
        if target is compat.SET_GRAD:
            now = bool(node.args[0])
            if self.grad is None:
                self.grad = not now
            context.pop("grad", None)
            if now != self.grad:
                context["grad"] = now
        elif target is compat.ENTER_AUTOCAST:
            device, dtype, enabled = (*node.args, None, None, True)[:3]
            self.modes.append((node, context))
            context = {**context, "autocast": _autocast(device, dtype, enabled)}
        elif target is compat.ENTER_INFERENCE:
            self.modes.append((node, context))
            context = {**context, "inference": bool(node.args[0])}
        elif target in (compat.EXIT_AUTOCAST, compat.EXIT_INFERENCE):
            entered = [before for each, before in self.modes if each is node.args[0]]
            if not entered:
                raise Unsayable("it leaves a context that it has not entered")
            key = "autocast" if target is compat.EXIT_AUTOCAST else "inference"
            context.pop(key, None)
            if key in entered[0]:
                context[key] = entered[0][key]
        else:
            return False
        self.steps.context = context
        return True


class _Inner(Writer):
    """A graph that an operator of another one executes."""

    def __init__(self, outer: Writer, module: torch.fx.GraphModule, given: list[Any]) -> None:
        super().__init__(module, outer.inputs, outer.steps.inner())
        self.given = iter(given)
        self.own: list[str] = []

    def input(self, node: Any) -> None:
        value: Any = next(self.given)
        if value is None:
            value = Ref(self.steps.fresh(node.name), node.meta.get("example_value"))
            self.own.append(value.name)
        self.values[node] = value

    def node(self, node: Any) -> None:
        if node.op == "output":
            found = node.args[0] if isinstance(node.args[0], (tuple, list)) else [node.args[0]]
            self.outputs = [self.value(each) for each in found]
        elif node.op == "get_attr" and not isinstance(
            getattr(self.module, node.target, None), torch.fx.GraphModule
        ):
            raise Unsayable(f"a part of it holds {node.target}")
        else:
            super().node(node)


def _autocast(device: str, dtype: Any, enabled: Any) -> dict:
    found = {"device": device, "dtype": str(dtype or torch.get_autocast_dtype(device))[6:]}
    return found if enabled else {**found, "enabled": False}


def _takes_one(user: Any) -> bool:
    return user.target is operator.getitem and type(user.args[1]) is int


def _is_sizes(result: Any) -> bool:
    return (
        isinstance(result, (tuple, list))
        and bool(result)
        and all(isinstance(each, (int, torch.SymInt)) for each in result)
    )


def _property(name: str) -> Any:
    """What reads a property of a tensor."""
    return getattr(getattr(torch.Tensor, name, None), "__get__", None)


def _parts(name: str) -> Iterator[str]:
    yield from re.findall(r"[A-Za-z_0-9]+", name)


def input_name(node: Any) -> str:
    """A name for an input, from where Dynamo found it: `L['self'].fc1.weight` is fc1_weight."""
    words = [
        word
        for word in _parts(compat.source_name(node))
        if word
        not in ("L", "G", "self", "__dict__", "_modules", "_parameters", "_buffers", "__closure__")
        and word not in ("cell_contents", "func", "args", "kwargs")
    ]
    return "_".join(words) or node.name.strip("_")
