"""What a call leaves behind in the process, beside its results (design/protocol.md, `state`)."""

import contextlib

import torch


def observe_state(device: str) -> dict:
    """The random generators of the CPU and of `device`, and the modes, as they are now."""
    generators = {"cpu": fnv1a(bytes(torch.get_rng_state().tolist()))}
    modes = {
        "grad": torch.is_grad_enabled(),
        "inference": torch.is_inference_mode_enabled(),
        "default_dtype": str(torch.get_default_dtype()).removeprefix("torch."),
        "deterministic_algorithms": "off"
        if not torch.are_deterministic_algorithms_enabled()
        else "warn"
        if torch.is_deterministic_algorithms_warn_only_enabled()
        else "on",
        "autocast_cpu": _autocast("cpu"),
        "threads": torch.get_num_threads(),
    }
    kind = device.partition(":")[0]
    if kind != "cpu":
        # A device of somebody else's may have neither a generator nor autocast.
        with contextlib.suppress(AttributeError, RuntimeError):
            generators[device] = fnv1a(
                bytes(torch.get_device_module(kind).get_rng_state(device).tolist())
            )
        with contextlib.suppress(RuntimeError):
            modes[f"autocast_{kind}"] = _autocast(kind)
    return {"generators": generators, "modes": modes}


def _autocast(kind: str) -> str:
    return (
        str(torch.get_autocast_dtype(kind)).removeprefix("torch.")
        if torch.is_autocast_enabled(kind)
        else "off"
    )


def fnv1a(data: bytes) -> str:
    """FNV-1a of 64 bits, as 16 hexadecimal digits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"
