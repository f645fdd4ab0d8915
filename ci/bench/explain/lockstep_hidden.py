"""Backends for torch.compile with several faults each, of known place and size: those of the table
that LOCKSTEP_HIDDEN names, backend → operator → factor by which its result is too large."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.registry import register_backend

TABLE = json.loads(Path(os.environ["LOCKSTEP_HIDDEN"]).read_text("utf-8"))


class Faulty(torch.fx.Interpreter):
    """Executes a graph with torch; the results of some operators are off."""

    def __init__(self, graph: torch.fx.GraphModule, off: dict[str, float]) -> None:
        super().__init__(graph)
        self.off = off

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        result = super().call_function(target, args, kwargs)
        size = self.off.get(str(target))
        if size and isinstance(result, torch.Tensor) and result.is_floating_point():
            return result * (1 + size)
        return result


def backend(off: dict[str, float]) -> Callable:
    """A backend with these faults."""

    def compile(graph: torch.fx.GraphModule, inputs: list[torch.Tensor]) -> Callable:
        faulty = Faulty(graph, off)

        def call(args: list[Any]) -> Any:
            return faulty.boxed_run(args)

        call._boxed_call = True  # type: ignore[attr-defined]
        return call

    return aot_autograd(fw_compiler=compile)


for name, off in TABLE.items():
    register_backend(backend(off), name=name)
