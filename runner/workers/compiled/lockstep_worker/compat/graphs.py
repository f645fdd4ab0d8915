"""Tracing of a function before anything is dispatched, and what a traced graph calls."""

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_leaves, tree_map

from .operators import Overload, schema

leaves, mapped = tree_leaves, tree_map


def trace(function: Callable, tensors: list[torch.Tensor]) -> Any:
    """The nodes of a function of tensors on these, composite operators whole. Raises whatever
    tracing or the function raises."""
    return make_fx(function, tracing_mode="real", pre_dispatch=True)(*tensors).graph.nodes


def overload(target: Any) -> str | None:
    """The name of what a node calls, as in `aten::add.Tensor`; None if that is no operator."""
    if not isinstance(target, torch._ops.OpOverload):
        return None
    return f"{schema(target).name}.{schema(target).overload_name or 'default'}"


def returns(target: Overload) -> list[str]:
    """The types of an operator's results."""
    return [str(each.type) for each in schema(target).returns]
