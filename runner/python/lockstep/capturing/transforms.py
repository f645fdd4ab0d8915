"""Transforms of torch.func in a graph, as steps.

Dynamo's graph has a call where a transform begins, one where it ends, and between them what it does
to each tensor."""

from collections.abc import Iterator
from typing import Any

from . import applied, compat
from .steps import Ref, Unsayable


def write(writer: Any, node: Any, nodes: Iterator[Any]) -> bool:
    """Whether a node begins a transform, whose nodes are then taken and written as a step; or
    counts for nothing. Raises `Unsayable`."""
    word = (compat.transform(node.target) if node.op == "call_function" else None) or ""
    if word in compat.OF_NO_ACCOUNT:
        return True
    kind = _KINDS.get(word)
    if kind is None:
        return False
    end, depth = word.replace("increment", "decrement"), 1
    inner: list[Any] = []
    for each in nodes:
        found = compat.transform(each.target) if each.op == "call_function" else None
        depth += (found == word) - (found == end)
        if depth == 0:
            kind(writer, node, inner)
            return True
        inner.append(each)
    raise Unsayable("it does not end a transform")


def _vmap(writer: Any, start: Any, nodes: list[Any]) -> None:
    if start.args[1] != "error":
        raise Unsayable("it draws random numbers in vmap")
    mapped = _Transform(writer)
    in_dims: list[int] = []
    out_dims: list[int] = []
    results: list[Any] = []

    def take(node: Any, word: str) -> bool:
        if word == "_add_batch_dim":
            mapped.enter(node, node.args[0])
            in_dims.append(node.args[1])
        elif word == "_remove_batch_dim":
            mapped.returned(node.args[0])
            out_dims.append(node.args[3])
            results.append(node)
        else:
            return False
        return True

    mapped.walk(nodes, take)
    words = {"in_dims": in_dims, "out_dims": out_dims}
    mapped.add("vmap", {key: each for key, each in words.items() if any(each)}, results)


def _grad(writer: Any, start: Any, nodes: list[Any]) -> None:
    derived = _Transform(writer)
    argnums: list[int] = []
    results: list[Any] = []
    gradients: dict[Any, int] = {}  # node → of which of them

    def take(node: Any, word: str) -> bool:
        if word == "_wrap_for_grad":
            derived.enter(node, node.args[0])
        elif word == "_set_tensor_requires_grad":
            argnums.append(derived.place(node.args[0]))
            derived.same(node, node.args[0])
        elif word == "_autograd_grad":
            outputs, inputs, *more = node.args
            places = [derived.place(each) for each in inputs]
            given = [*more, *(node.kwargs.get(key) for key in ("grad_outputs", "retain_graph"))]
            if len(outputs) != 1 or places != argnums or any(each is not None for each in given):
                raise Unsayable("it computes a product with a Jacobian")
            derived.returned(outputs[0])
            gradients.update({user: user.args[1] for user in node.users})
            results.extend([None] * len(inputs))
        elif node in gradients:
            pass
        elif word == "_unwrap_for_grad":
            if node.args[0] in gradients:
                results[gradients[node.args[0]]] = node
            elif node.users:
                raise Unsayable("it uses a value beside its gradient")
        else:
            return False
        return True

    derived.walk(nodes, take)
    derived.first(argnums)
    count = len(argnums)
    derived.add("grad", {} if count == 1 else {"argnums": list(range(count))}, results)


def _jvp(writer: Any, start: Any, nodes: list[Any]) -> None:
    derived = _Transform(writer)
    tangents: list[Any] = []
    parts: dict[Any, tuple[int, int]] = {}  # node → of which result, and whether its derivative
    results: dict[tuple[int, int], Any] = {}

    def take(node: Any, word: str) -> bool:
        if word == "_make_dual":
            derived.enter(node, node.args[0])
            tangents.append(writer.value(node.args[1]))
        elif word == "_unpack_dual":
            at = derived.returned(node.args[0])
            parts.update({user: (at, user.args[1]) for user in node.users})
        elif node in parts:
            pass
        elif word == "_unwrap_for_grad" and node.args[0] in parts:
            results[parts[node.args[0]]] = node
        else:
            return False
        return True

    derived.walk(nodes, take)
    order = [(at, part) for part in (0, 1) for at in range(len(derived.outputs))]
    words = {"tangents": applied.references(tangents)}
    derived.add("jvp", words, [results.get(each) for each in order])


_KINDS = {
    "_vmap_increment_nesting": _vmap,
    "_grad_increment_nesting": _grad,
    "_jvp_increment_nesting": _jvp,
}


class _Transform:
    """What is inside of a transform, as a sub-program."""

    def __init__(self, writer: Any) -> None:
        self.outer = writer
        self.inner = writer.transformed()
        self.args: list[Any] = []
        self.own: list[Ref] = []
        self.outputs: list[Any] = []

    def walk(self, nodes: list[Any], take: Any) -> None:
        """Writes the nodes, but for those that `take` takes, as it is told with the word of the
        transform."""
        rest = iter([each for each in nodes if each not in self.outer.masks])
        for node in rest:
            function = node.op == "call_function"
            word = compat.transform(node.target) if function else None
            if not (function and take(node, word or "")):
                self.inner.next(node, rest)

    def enter(self, node: Any, given: Any) -> None:
        """A tensor of the program outside becomes an input."""
        if given not in self.outer.values:
            raise Unsayable("it hands a tensor to a transform that is in it already")
        self.args.append(self.outer.value(given))
        name = getattr(self.args[-1], "name", node.name)
        self.own.append(Ref(self.inner.steps.fresh(name), node.meta.get("example_value")))
        self.inner.values[node] = self.own[-1]

    def same(self, node: Any, as_: Any) -> None:
        """A node that is another one."""
        self.inner.values[node] = self.inner.values[as_]

    def place(self, node: Any) -> int:
        """Which of the inputs a node is. Raises `Unsayable`."""
        found = self.inner.values.get(node)
        if found not in self.own:
            raise Unsayable("it differentiates by what is no argument")
        return self.own.index(found)

    def first(self, places: list[int]) -> None:
        """Puts these inputs before the others."""
        order = [*places, *(at for at in range(len(self.own)) if at not in places)]
        self.args = [self.args[at] for at in order]
        self.own = [self.own[at] for at in order]

    def returned(self, node: Any) -> int:
        """The place of a result."""
        self.outputs.append(self.inner.value(node))
        return len(self.outputs) - 1

    def add(self, name: str, kwargs: dict, results: list[Any]) -> None:
        """Adds the step; `results` are the nodes that stand for its results outside, None for those
        that nobody uses."""
        names = [None if node is None else self.outer.steps.fresh(name) for node in results]
        if not any(names):
            return
        inputs = [each.name for each in self.own]
        step = {
            "let": names,
            "apply": name,
            "args": applied.references(self.args),
            "kwargs": kwargs,
            "do": applied.program(inputs, self.inner.steps, self.outputs),
        }
        self.outer.steps.add(step)
        for node, word in zip(results, names):
            if word is not None:
                self.outer.values[node] = Ref(word, node.meta.get("example_value"))
