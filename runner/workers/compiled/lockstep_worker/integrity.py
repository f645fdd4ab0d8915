"""Whether what watches and writes down is still what it was: a backend on trial is in the same
process, and could put something else in its place."""

import sys
import time
import types
from collections.abc import Iterator
from typing import Any

import torch


class Integrity:
    """What Lockstep's own modules in this process consist of, and what of torch's they rest on, as
    they were when it was made."""

    def __init__(self) -> None:
        # Strong references: a number could be given to something else.
        self._before = dict(_parts())

    def changed(self) -> list[str]:
        """The names of what is another one by now, at most a few."""
        now = dict(_parts())
        names = [
            name
            for name, part in self._before.items()
            if name not in now or any(a is not b for a, b in zip(part, now[name]))
        ]
        return sorted(names)[:5]


def _parts() -> Iterator[tuple[str, tuple]]:
    """Name → a function, and the code that it has."""
    package = __name__.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        if name.startswith(package + ".") and ".compat." not in name:
            yield from _functions(name.removeprefix(package + "."), vars(module), 2)
    for name, owner, attribute in _torchs():
        found = getattr(owner, attribute, None)
        yield name, (found, getattr(found, "__code__", None))


def _torchs() -> Iterator[tuple[str, Any, str]]:
    from torch._dynamo.output_graph import OutputGraph

    yield "torch.autograd._enable_record_function", torch.autograd, "_enable_record_function"
    # Where it comes from.
    yield (
        "torch._C._autograd._enable_record_function",
        torch._C._autograd,
        "_enable_record_function",
    )
    yield "torch.profiler.record_function", torch.profiler, "record_function"
    yield "torch.profiler.ExecutionTraceObserver", torch.profiler, "ExecutionTraceObserver"
    observer = torch.profiler.ExecutionTraceObserver
    for name in ("register_callback", "start", "stop", "unregister_callback"):
        yield f"ExecutionTraceObserver.{name}", observer, name
    yield "OpOverload.redispatch", torch._ops.OpOverload, "redispatch"
    yield "Dynamo's call_user_compiler", OutputGraph, "call_user_compiler"
    yield "torch.manual_seed", torch, "manual_seed"
    yield "time.perf_counter", time, "perf_counter"
    yield "time.monotonic", time, "monotonic"


def _functions(prefix: str, members: Any, depth: int) -> Iterator[tuple[str, tuple]]:
    for name, member in list(members.items()):
        if isinstance(member, types.FunctionType):
            yield f"{prefix}.{name}", (member, member.__code__)
        elif isinstance(member, type) and depth > 1:
            if member.__module__.endswith(prefix):
                yield from _functions(f"{prefix}.{name}", vars(member), depth - 1)
