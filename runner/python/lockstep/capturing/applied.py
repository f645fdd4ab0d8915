"""Operators of a graph that take sub-programs, as steps: a branch, a loop, a region.

Dynamo's graph holds the sub-programs as graphs, whose inputs are arguments of the operator."""

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import compat
from .steps import Ref, Steps, Unsayable

#: The most iterations of a loop that a case can say (kMostIterations).
MOST_ITERATIONS = 1024
#: The size of the only block of a mask that masks nothing.
_WHOLE = 1 << 30
#: Settings of a checkpoint that change nothing of what is computed.
_USUAL = {
    "use_reentrant": (False,),
    "preserve_rng_state": (True,),
    "determinism_check": ("default",),
    "debug": (False,),
    "early_stop": (True,),
}


def write(writer: Any, node: Any, args: tuple, kwargs: dict) -> list[Ref | None]:
    """Adds the step of such an operator, whose arguments stand for those of the node; what stands
    for its results. Raises `Unsayable`."""
    name = getattr(node.target, "__name__", "") or str(node.target)
    make = _MAKE.get(name)
    if make is None:
        raise Unsayable(f"it calls {name}, whose sub-programs no case can say")
    results = node.meta.get("example_value")
    if not isinstance(results, (tuple, list)):
        raise Unsayable(f"it calls {name}, which returns no tuple of tensors")
    step = make(writer, args, kwargs)
    if name == "flex_attention":
        if any(user.args[1] != 0 for user in node.users):
            raise Unsayable("it uses what flex_attention returns beside its result")
        results = results[:1]
    names = [writer.steps.fresh(f"{node.name}_{at}") for at in range(len(results))]
    writer.steps.add({"let": names, **step})
    return [Ref(name, like) for name, like in zip(names, results)]


def only_for_masks(graph: Any) -> set[Any]:
    """The nodes of a graph that compute nothing but the blocks of masks that mask nothing: a case
    has no such mask."""
    uses = {
        (part, node)
        for node in graph.nodes
        if node.op == "call_function"
        and getattr(node.target, "__name__", "") == "flex_attention"
        and compat.is_higher_order(node.target)
        for part in _nodes(node.args[4])
        if part not in _nodes([*node.args[:4], *node.args[5:]])
    }
    found = {part for part, _ in uses}
    before = 0
    while len(found) > before:  # what they are computed from, and what is written to that
        before = len(found)
        found |= {each for node in found for each in node.all_input_nodes}
        found |= {
            each for node in found for each in node.users if not each.users and each.op != "output"
        }
    changed = True
    while changed:
        kept = {
            node
            for node in found
            if node.op != "placeholder"
            and all(user in found or (node, user) in uses for user in node.users)
        }
        changed, found = kept != found, kept
    return found


def _nodes(value: Any) -> list[Any]:
    return [each for each in tree_leaves(value) if hasattr(each, "all_input_nodes")]


def program(inputs: list[str], steps: Steps, outputs: list[Any]) -> dict:
    """A sub-program of the protocol. Raises `Unsayable`."""
    if not all(isinstance(each, Ref) for each in outputs) or not outputs:
        raise Unsayable("a part of it returns what is no tensor")
    return {"inputs": inputs, "steps": steps.steps, "outputs": [each.name for each in outputs]}


def references(values: Any) -> list[dict]:
    """Arguments, each of which is a tensor. Raises `Unsayable`."""
    if not values or not all(map(_is_tensor, values)):
        raise Unsayable("a part of it is given what is no tensor, or nothing")
    return [{"ref": each.name} for each in values]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Ref) and isinstance(value.like, torch.Tensor)


def _given(operands: Any) -> list[Any]:
    """What a sub-program that is called with these is given: tensors are inputs of its own, numbers
    those of the program around it."""
    return [None if _is_tensor(each) else each for each in operands]


def _tensors(operands: Any) -> list[dict]:
    return references([each for each in operands if _is_tensor(each)])


def _cond(writer: Any, args: tuple, kwargs: dict) -> dict:
    predicate, do, otherwise, operands = args
    if not _is_tensor(predicate):
        raise Unsayable("it branches by what is no tensor")
    return {
        "apply": "cond",
        "args": _tensors(operands),
        "kwargs": {"pred": {"ref": predicate.name}},
        "do": writer.inside(do, _given(operands)),
        "else": writer.inside(otherwise, _given(operands)),
    }


def _while_loop(writer: Any, args: tuple, kwargs: dict) -> dict:
    condition, do, carried, others = args
    given = [None] * len(carried) + list(others)
    return {
        "apply": "while_loop",
        "args": references(carried),
        "kwargs": {"most": MOST_ITERATIONS},
        "while": writer.inside(condition, given),
        "do": writer.inside(do, given),
    }


def _scan(writer: Any, args: tuple, kwargs: dict) -> dict:
    do, init, xs, others = args
    given = [None] * (len(init) + len(xs)) + list(others)
    return {
        "apply": "scan",
        "args": references(xs),
        "kwargs": {"init": references(init)},
        "do": writer.inside(do, given),
    }


def _checkpoint(writer: Any, args: tuple, kwargs: dict) -> dict:
    do, *operands = args
    if compat.has_contexts(do):
        raise Unsayable("it calls checkpoint with a context_fn")
    for name, value in kwargs.items():
        if value not in _USUAL.get(name, ()):
            raise Unsayable(f"it calls checkpoint with {name}={value}")
    return _called("checkpoint", writer, do, operands)


def _region(writer: Any, args: tuple, kwargs: dict) -> dict:
    do, _, *operands = args
    return _called("nested_compile_region", writer, do, operands)


def _called(name: str, writer: Any, do: Any, operands: list) -> dict:
    """An operator that calls one sub-program with its arguments; numbers are those of the program
    around it."""
    return {
        "apply": name,
        "args": _tensors(operands),
        "kwargs": {},
        "do": writer.inside(do, _given(operands)),
    }


def _flex_attention(writer: Any, args: tuple, kwargs: dict) -> dict:
    query, key, value, score, mask, scale, _, *buffers = (*args, (), ())[:9]
    # Without a mask the program has torch's own, which gives true for the places of a score: four
    # inputs, one step and its result.
    gives_true = mask[-1].graph.find_nodes(op="call_method", target="new_ones")
    if not gives_true or len(mask[-1].graph.nodes) > 6 or min(mask[-3:-1]) < _WHOLE:
        raise Unsayable("it calls flex_attention with a mask of blocks")
    return {
        "apply": "flex_attention",
        "args": references([query, key, value]),
        "kwargs": {"scale": {"float": float(scale).hex()}},
        "do": writer.inside(score, [None] * 5 + list(buffers[0])),
    }


#: By the names that torch gives the operators.
_MAKE = {
    "cond": _cond,
    "while_loop": _while_loop,
    "scan": _scan,
    "tag_activation_checkpoint": _checkpoint,
    "invoke_subgraph": _region,
    "flex_attention": _flex_attention,
}
