"""The accelerator that torch has (`torch.accelerator`: a GPU, or whatever a vendor registers), and
compiling for the CPU without touching it."""

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any

import torch

#: Where torch keeps what it was told of accelerators.
_REMEMBER = (
    "torch.utils._triton",
    "torch._inductor.utils",
    "torch._inductor.codecache",
    "torch._dynamo.device_interface",
)
#: What they keep of something else: where a precompiled header lies, for which the C++ preprocessor
#: would be asked again.
_KEEP = {"_precompile_header"}


def names() -> list[str]:
    """The devices besides the CPU: the accelerator's kind, and each by its index. Asking may
    initialise a driver, which does not survive a fork."""
    accelerator = torch.accelerator.current_accelerator()
    if accelerator is None or not torch.accelerator.is_available():
        return []
    return [
        accelerator.type,
        *(f"{accelerator.type}:{i}" for i in range(torch.accelerator.device_count())),
    ]


def synchronize(device: torch.device) -> None:
    """Waits until a device has done what it was asked; for a CPU, nothing."""
    if device.type != "cpu":
        torch.accelerator.synchronize(device)


def _forget(owner: object) -> None:
    """Clears what the functions of a module, and of the classes that it defines, have cached."""
    for name, value in list(vars(owner).items()):
        if name in _KEEP:
            continue
        if isinstance(value, type) and value.__module__ == getattr(owner, "__name__", None):
            _forget(value)
        value = getattr(value, "__func__", value)  # static methods
        if isinstance(value, functools._lru_cache_wrapper):
            value.cache_clear()


@contextlib.contextmanager
def no_accelerator() -> Iterator[None]:
    """While it lasts, torch sees no accelerator: Inductor asks for its properties even when it
    compiles for the CPU, and a driver's context does not survive a fork. Afterwards what was cached
    of the answers is forgotten. Where torch was built for none nothing changes. Raises
    `RuntimeError` if it was initialised all the same."""
    accelerator = (
        torch.accelerator.current_accelerator()
    )  # what torch was built for, with or without one here
    if accelerator is None:
        yield
        return

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"a parent that forks does not initialise {accelerator}")

    module = torch.get_device_module(accelerator)
    # Fake tensors have torch's own code count CUDA's devices, where Python says that there are
    # none.
    replaced = [
        (module, "is_available", lambda: False),
        (module, "device_count", lambda: 0),
        (module, "_lazy_init", refuse),
        (torch._C, "_ensureCUDADeviceGuardSet", lambda: None),
    ]
    before = [(owner, name, getattr(owner, name, None)) for owner, name, _ in replaced]
    for owner, name, function in replaced:
        if hasattr(owner, name):
            setattr(owner, name, function)
    try:
        yield
    finally:
        for owner, name, original in before:
            if original is not None:
                setattr(owner, name, original)
        for name in _REMEMBER:
            with contextlib.suppress(ImportError):
                owner = importlib.import_module(name)
                _forget(owner)
                if hasattr(owner, "_device_initialized"):
                    vars(owner)["_device_initialized"] = False
    if getattr(module, "is_initialized", lambda: False)():
        raise RuntimeError(f"the parent initialised {accelerator}; its children could not use it")
