"""Compiling for the CPU without touching a GPU that is there."""

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any

import torch

#: Where torch keeps what it was told of GPUs.
_REMEMBER = ("torch.utils._triton", "torch._inductor.utils", "torch._inductor.codecache", "torch._dynamo.device_interface")


def _forget(owner: object) -> None:
    """Clears what the functions of a module, and of the classes that it defines, have cached."""
    for value in list(vars(owner).values()):
        if isinstance(value, type) and value.__module__ == getattr(owner, "__name__", None):
            _forget(value)
        value = getattr(value, "__func__", value)  # static methods
        if isinstance(value, functools._lru_cache_wrapper):
            value.cache_clear()


@contextlib.contextmanager
def no_accelerator() -> Iterator[None]:
    """While it lasts, torch sees no GPU: Inductor asks for its properties even when it compiles for
    the CPU, and a CUDA context does not survive a fork. Afterwards what was cached of the answers
    is forgotten. Without a GPU nothing changes. Raises `RuntimeError` if CUDA was initialised all the same."""

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("a parent that forks does not initialise CUDA")

    if torch.version.cuda is None and torch.version.hip is None:
        yield
        return
    patches = {"is_available": lambda: False, "device_count": lambda: 0, "_lazy_init": refuse}
    before = {name: getattr(torch.cuda, name) for name in patches if hasattr(torch.cuda, name)}
    for name in before:
        setattr(torch.cuda, name, patches[name])
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(torch.cuda, name, function)
        for name in _REMEMBER:
            with contextlib.suppress(ImportError):
                owner = importlib.import_module(name)
                _forget(owner)
                if hasattr(owner, "_device_initialized"):
                    vars(owner)["_device_initialized"] = False
    if torch.cuda.is_initialized():
        raise RuntimeError("the parent initialised CUDA; its children could not use it")
