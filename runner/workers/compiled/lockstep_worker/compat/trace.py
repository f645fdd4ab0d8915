"""What torch's dispatcher was asked for while something ran, as its execution trace tells it."""

import contextlib
import gc
import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch

from .operators import REDISPATCHED

#: Who is between a caller and an operator where the operator is not what runs: a dispatch mode or a
#: tensor's subclass.
_INTERCEPTS = "Python"
_THREAD = "[pytorch|profiler|execution_trace|thread]"
_WINDOW = "lockstep window "
#: What a window has at its begin and at its end, so that one in which nothing was written down is
#: told from one in which nothing ran.
CANARY = "lockstep canary"


class Call(NamedTuple):
    """A call as the dispatcher or autograd saw it. Of what is no operator, `schema` is empty."""

    name: str  # "aten::mm", or what autograd calls a node: "MulBackward0"
    schema: str  # "aten::mm(Tensor self, Tensor mat2) -> Tensor"
    types: tuple[str, ...]  # of its tensors, results last: "Tensor(float)"
    devices: tuple[str, ...]  # of them, "meta" for one without data
    calls: "list[Call]"  # made while it ran

    @property
    def intercepted(self) -> bool:
        """Whether Python took it over, so that what it calls is what ran."""
        return any(not call.schema and call.name.startswith(_INTERCEPTS) for call in self.calls)


class Observer:
    """Writes to a file what every thread of this process asks of the dispatcher, in windows. A
    process has one: it says so by windows that are lost, never by an error."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._windows = 0
        self._open = False
        self._observer: Any = None
        with contextlib.suppress(Exception):
            self._observer = torch.profiler.ExecutionTraceObserver()
            # Past its warning that the name does not end with ".json".
            _quietly(lambda: self._observer.register_callback(file))

    @contextlib.contextmanager
    def window(self) -> Iterator[int | None]:
        """Watches until it is closed; its number, None inside of another one, which goes on."""
        if self._open or self._observer is None:
            yield None
            return
        self._open = True
        number, self._windows = self._windows, self._windows + 1
        _quietly(self._observer.start)
        try:
            with torch.profiler.record_function(f"{_WINDOW}{number}"):
                _sing()
                yield number
                _sing()
        finally:
            _quietly(self._observer.stop)
            self._open = False

    def close(self) -> None:
        """Writes the file."""
        with contextlib.suppress(Exception):
            self._observer.unregister_callback()
        self._observer = None


def read(file: int) -> dict[int, list[Call]]:
    """The calls of each window in what an observer wrote, those of other threads last. A window
    that another observer put out, or in which nothing could be seen, is left out."""
    with contextlib.suppress(Exception), _no_collector():
        nodes = json.loads(os.pread(file, os.fstat(file).st_size, 0))["nodes"]
        return {
            number: [call for call in calls if call.name != CANARY]
            for number, calls in _windows(nodes).items()
            if sum(call.name == CANARY and bool(call.calls) for call in calls) >= 2
        }
    return {}


def on_put_out(callback: Callable[[], None]) -> None:
    """Calls `callback` when Python puts every profiler out. Raises `AttributeError` where this
    torch has no such switch."""
    enable = torch.autograd._enable_record_function

    def enabling(on: bool) -> None:
        if not on:
            callback()
        enable(on)

    for owner in (torch.autograd, torch._C._autograd):
        owner._enable_record_function = enabling


def rests_on() -> Iterator[tuple[str, Any, str]]:
    """What of torch and Python a witness and the clocks rest on: its name, its owner, and how the
    owner calls it."""
    from torch._dynamo.output_graph import OutputGraph

    enable = "_enable_record_function"
    yield f"torch.autograd.{enable}", torch.autograd, enable
    yield f"torch._C._autograd.{enable}", torch._C._autograd, enable
    yield "torch.profiler.record_function", torch.profiler, "record_function"
    yield "torch.profiler.ExecutionTraceObserver", torch.profiler, "ExecutionTraceObserver"
    for name in ("register_callback", "start", "stop", "unregister_callback"):
        yield f"ExecutionTraceObserver.{name}", torch.profiler.ExecutionTraceObserver, name
    yield "OpOverload.redispatch", torch._ops.OpOverload, "redispatch"
    yield "Dynamo's call_user_compiler", OutputGraph, "call_user_compiler"
    yield "torch.manual_seed", torch, "manual_seed"
    yield "torch.default_generator", torch, "default_generator"
    yield "time.perf_counter", time, "perf_counter"
    yield "time.monotonic", time, "monotonic"


def _sing() -> None:
    """Asks the dispatcher for something that is to be in the trace."""
    with torch.profiler.record_function(CANARY):
        torch.empty(0)


def _quietly(function: Any) -> None:
    """Calls `function` without the two lines that it writes to standard error, past Python's
    own."""
    kept = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        function()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """Python looks for garbage again and again while it makes what stays: of a trace of 18,000
    calls that takes six times as long as to read it."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _windows(nodes: list[dict]) -> dict[int, list[Call]]:
    calls = {node["id"]: _call(node) for node in nodes}
    roots: list[tuple[int, Call]] = []
    threads = {node["id"] for node in nodes if node["name"] == _THREAD}
    for node in sorted(nodes, key=lambda node: node["id"]):
        parent = node["ctrl_deps"]
        if parent in threads:
            roots.append((node["id"], calls[node["id"]]))
        elif parent in calls and parent != node["id"]:
            calls[parent].calls.append(calls[node["id"]])
    found: dict[int, list[Call]] = {}
    current: list[Call] = []
    # Numbers are given when calls begin: what another thread did has one after that of the window.
    for _, call in roots:
        if call.name.startswith(_WINDOW) and not call.schema:
            current = found[int(call.name.removeprefix(_WINDOW))] = call.calls
        elif call.name != _THREAD:
            current.append(call)
    return found


def _call(node: dict) -> Call:
    attributes = {each["name"]: each["value"] for each in node.get("attrs", [])}
    types: list[str] = []
    devices: list[str] = []
    for side in (node["inputs"], node["outputs"]):
        for type_, value in zip(side["types"], side["values"]):
            _tensors(type_, value, types, devices)
    name, schema = node["name"], attributes.get("op_schema", "")
    if name.startswith(REDISPATCHED):
        schema = name.removeprefix(REDISPATCHED)
        name = schema.partition("(")[0].partition(".")[0]
    return Call(name, schema, tuple(types), tuple(devices), [])


def _tensors(type_: str, value: Any, types: list[str], devices: list[str]) -> None:
    """Adds the tensors of an argument or of a result: `[tensor, storage, offset, elements, bytes
    each, device]`, or a list of these."""
    if type_.startswith("Tensor(") and isinstance(value, list) and len(value) == 6:
        types.append(type_)
        devices.append(str(value[5]))
    elif (
        type_.startswith(("GenericList[", "Tuple["))
        and "Tensor(" in type_
        and isinstance(value, list)
    ):
        inner = type_[type_.index("[") + 1 : -1].split(",")
        for each, element in zip(inner, value):
            _tensors(each, element, types, devices)
