"""Every distinct call of an operator that a program makes, for a sweep of calls."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import compat, tensors
from .recorder import _undisturbed
from .spool import Full, Spool
from .steps import Ref, Unsayable, protocol
from .tensors import Unwritable

#: The most distinct calls of a program.
MOST_CALLS = 10_000


class Calls(TorchDispatchMode):
    """Notes each call of an operator that is like no earlier one: another operator, other dtypes,
    shapes, strides or arguments; and how often it is made. They are one region, `calls`, on disk
    when `close` is called, and every so many calls."""

    def __init__(self, spool: Spool) -> None:
        super().__init__()
        self.spool = spool
        self.file = spool.begin()
        self.seen: dict[str, dict] = {}
        self.json: dict[str, Any] = {"sweep": []}

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        try:
            with _undisturbed():
                self.note(function, args, kwargs)
        except (Unsayable, Unwritable, Full):
            pass  # one of many; what cannot be said of it is said of the graph
        return function(*args, **kwargs)

    def note(self, function: Any, args: Any, kwargs: Any) -> None:
        """Notes a call. Raises `Unsayable`, `Unwritable` and `Full`."""
        name = compat.overload(function)
        if name is None or not name.startswith("aten::") or not compat.sweepable(function):
            return
        found: dict[str, torch.Tensor] = {}

        def put(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                word = next((n for n, each in found.items() if each is value), f"t{len(found)}")
                found[word] = value
                return Ref(word, value)
            if isinstance(value, (list, tuple)):
                return [put(each) for each in value]
            return value

        call = {
            "op": name,
            "args": [protocol(put(each)) for each in args],
            "kwargs": {key: protocol(put(each)) for key, each in kwargs.items()},
        }
        shapes = [(t.dtype, t.shape, t.stride()) for t in found.values()]
        key = f"{call} {shapes}"
        if key in self.seen:
            self.seen[key]["times"] += 1
        if not found or key in self.seen or len(self.seen) >= MOST_CALLS:
            return
        described = tensors.describe({n: each.detach() for n, each in found.items()}, self.spool)
        self.seen[key] = {"call": call, "inputs": described, "times": 1}
        self.json["sweep"].append(self.seen[key])
        if len(self.seen) % 50 == 1:
            self.close()

    def close(self) -> None:
        """Puts down what there is."""
        self.spool.write(self.file, self.json)
