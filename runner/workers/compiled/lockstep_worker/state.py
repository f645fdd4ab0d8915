"""What a call leaves behind in the process, beside its results (design/protocol.md, `state`)."""

import contextlib
import ctypes
import os
import random
import signal
import warnings
from collections.abc import Callable

import torch

#: What a mode says that is none of torch's and that nobody has touched.
AS_BEFORE = "as before"
_LEAST = 5e-324
_LIBC = ctypes.CDLL(None)


def _environment() -> dict[str, str]:
    return dict(os.environ)


def _signals() -> dict[str, object]:
    return {each.name: signal.getsignal(each) for each in signal.Signals}


def _warning_filters() -> list:
    return list(warnings.filters)


def _subnormals() -> str:
    return "kept" if _LEAST * len("1") else "flushed"


#: Parts of a process that a program has no business with, by their names among the modes. The eager
#: worker names the same (eager/state.cpp): no operator there touches them.
SURROUNDINGS: dict[str, Callable[[], object]] = {
    "environment": _environment,
    "signals": _signals,
    "python_random": random.getstate,
    "default_device": lambda: str(torch.get_default_device()),
    "matmul_precision": torch.get_float32_matmul_precision,
    "anomaly": torch.is_anomaly_enabled,
    "rounding": _LIBC.fegetround,
    "subnormals": _subnormals,
    "warning_filters": _warning_filters,
}


class Surroundings:
    """What surrounds a program, as it was when this was made."""

    def __init__(self) -> None:
        self._before = {name: read() for name, read in SURROUNDINGS.items()}

    def modes(self) -> dict[str, str]:
        """By its name what has become of each part since: `AS_BEFORE`, or what is another."""
        return {
            name: _difference(before, SURROUNDINGS[name]()) for name, before in self._before.items()
        }


def _difference(before: object, now: object) -> str:
    if before == now:
        return AS_BEFORE
    if isinstance(before, dict) and isinstance(now, dict):
        names = [
            name for name in {**before, **now} if before.get(name, before) != now.get(name, now)
        ]
        return f"{', '.join(sorted(names)):.100} changed"
    return f"{before:.40}, now {now:.40}" if isinstance(before, str) else "another"


def observe_state(device: str, surroundings: Surroundings | None = None) -> dict:
    """The random generators of the CPU and of `device`, and the modes, as they are now; with
    `surroundings` what has become of those."""
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
        **(surroundings.modes() if surroundings else {}),
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
