"""What generated C++ calls of torch's operators, by name."""

import functools
import re

import torch

#: Of the stable interface a function for one operator, `aoti_torch_cpu_mm_out(`, in its oldest part
#: for all devices, `aoti_torch_index_put_out(`; its dispatcher,
#: `aoti_torch_call_dispatcher("aten::cummax", "", …)`; and torch's own,
#: `findSchemaOrThrow("aten::sum", "dim_IntList")`.
_CALL = re.compile(
    r"\baoti_torch_(?:cpu|cuda|xpu|mps)_(\w+)\("
    r"|\baoti_torch_((?:_mm_plus_mm|index_put|scatter|scatter_reduce)_out)\("
    r'|\b(?:aoti_torch_call_dispatcher|findSchemaOrThrow)\("(\w+::\w+)"'
)


def shims(text: str) -> list[str]:
    """The operators, as `aten::mm`, each as often as it is written."""
    return [called or _operator(name or older) for name, older, called in _CALL.findall(text)]


@functools.cache
def _operator(name: str) -> str:
    """The operator of such a function, which is called by its overload, too: `sort_stable` is of
    `sort`."""
    words = name.split("_")
    for count in range(len(words), 0, -1):
        if hasattr(torch.ops.aten, found := "_".join(words[:count])):
            return f"aten::{found}"
    return f"aten::{name}"
