"""Tracing of a function before anything is dispatched, and what a traced graph calls."""

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves, tree_map

from .operators import Overload, schema

leaves, mapped = tree_leaves, tree_map


#: Where an operator that is written in Python has its kernel.
_KEYS = (
    torch._C.DispatchKey.CPU,
    torch._C.DispatchKey.CompositeExplicitAutograd,
    torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional,
    torch._C.DispatchKey.CompositeImplicitAutograd,
)


def trace(
    function: Callable, tensors: list[torch.Tensor], instead: dict[Overload, Callable] | None = None
) -> Any:
    """The nodes of a function of tensors on these, composite operators whole; of the operators that
    `instead` has, those of what it calls. Raises whatever tracing or the function raises."""
    traced = make_fx(function, instead, tracing_mode="real", pre_dispatch=True)(*tensors)
    return traced.graph.nodes


def kernels(nodes: Any) -> dict[Overload, Callable]:
    """The kernels of the operators that nodes call and that are not aten's, as far as there are
    such."""
    found: dict[Overload, Callable] = {}
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    for op in {node.target for node in nodes}:
        if not isinstance(op, torch._ops.OpOverload) or op.namespace == "aten":
            continue
        for key in _KEYS:
            if op not in found and has(op.name(), key.name):
                found[op] = functools.partial(op._op_dk, key)
    return found


def overload(target: Any) -> str | None:
    """The name of what a node calls, as in `aten::add.Tensor`; None if that is no operator."""
    if not isinstance(target, torch._ops.OpOverload):
        return None
    return f"{schema(target).name}.{schema(target).overload_name or 'default'}"


def returns(target: Overload) -> list[str]:
    """The types of an operator's results."""
    return [str(each.type) for each in schema(target).returns]
