"""What Python needs of a device that a shared object has registered with torch (`--library`)."""

import sys
import types

import torch

_ADOPTED: list[str] = []


def adopt() -> None:
    """Gives torch the module of a device (`torch.NAME`) that was registered without one: by it
    Python counts devices, and seeds them. The device's generator is out of Python's reach, so it is
    neither seeded nor read here."""
    accelerator = getattr(torch, "accelerator", None) and torch.accelerator.current_accelerator()
    if accelerator is None or hasattr(torch, accelerator.type):
        return
    count = getattr(torch._C, "_accelerator_hooks_device_count", lambda: 1)
    module = types.ModuleType(f"torch.{accelerator.type}")
    vars(module).update(
        device_count=count,
        is_available=lambda: count() > 0,
        current_device=torch.accelerator.current_device_index,
        set_device=torch.accelerator.set_device_index,
        is_initialized=lambda: False,
        _is_in_bad_fork=lambda: False,
        manual_seed_all=lambda seed: None,
        get_amp_supported_dtype=lambda: [torch.float16, torch.bfloat16],
    )
    torch._register_device_module(accelerator.type, module)
    _ADOPTED.append(accelerator.type)


def abandon() -> None:
    """Takes away what `adopt` gave, for a module that brings its own: torch registers one only
    once."""
    while _ADOPTED:
        name = _ADOPTED.pop()
        delattr(torch, name)
        sys.modules.pop(f"torch.{name}", None)
