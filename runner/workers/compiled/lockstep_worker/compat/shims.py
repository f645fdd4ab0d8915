"""What generated C++ calls of torch's operators: through the stable interface, by name."""

import functools
import re

import torch

#: A function for one operator, `aoti_torch_cpu_mm_out(`; the dispatcher,
#: `aoti_torch_call_dispatcher("aten::cummax", "", …)`.
_CALL = re.compile(r'\baoti_torch_(?:(?:cpu|cuda|xpu|mps)_(\w+)\(|call_dispatcher\("(\w+::\w+)")')


def shims(text: str) -> list[str]:
    """The operators, as `aten::mm`, each as often as it is written."""
    return [called or _operator(name) for name, called in _CALL.findall(text)]


@functools.cache
def _operator(name: str) -> str:
    """The operator of such a function, which is called by its overload, too: `sort_stable` is of
    `sort`."""
    words = name.split("_")
    for count in range(len(words), 0, -1):
        if hasattr(torch.ops.aten, found := "_".join(words[:count])):
            return f"aten::{found}"
    return f"aten::{name}"
