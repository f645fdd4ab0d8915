"""What a call leaves behind in the process, beside its results (design/protocol.md, `state`)."""

import contextlib
import ctypes
import functools
import gc
import os
import random
import re
import signal
import stat
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from .compat.tensors import identity, version

#: What a mode says that is none of torch's and that nobody has touched.
AS_BEFORE = "as before"
_LEAST = 5e-324
#: What Python ignores unless it is told otherwise.
_UNSEEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
#: What C++ writes to standard error of a warning that nobody of Python takes, such as one of an
#: operator that a compiled graph calls past `torch`.
_WRITTEN = re.compile(rb"^\[W[^\]\n]*\] Warning: (.*)$", re.MULTILINE)
#: Where a warning of C++ says that it comes from.
_FROM = re.compile(r" \((?:Triggered internally at|function) .*")
#: How much of standard error is looked through for a call, in bytes.
_MOST_WRITTEN = 1 << 20
#: How many different warnings of a call are said, and how many are heard at all.
_MOST_WARNINGS, _MOST_HEARD = 64, 4096
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


class Versions:
    """The versions that autograd counts of the inputs of a call: who keeps one for its backward
    learns by them that it was written to since."""

    def __init__(self, inputs: Iterable[tuple[str, Any]]) -> None:
        """Not of those that share memory: views of one tensor share its version, and these are no
        views, so that each has a version of its own, which torch cannot know to be one."""
        tensors = [
            (name, value)
            for name, value in inputs
            if isinstance(value, torch.Tensor) and not value.is_inference()
        ]
        sharing = Counter(identity(value.untyped_storage()) for _, value in tensors)
        self._before = [
            (name, value, version(value))
            for name, value in tensors
            if sharing[identity(value.untyped_storage())] == 1
        ]

    def counted(self) -> list[str]:
        """Of which inputs it is another by now."""
        return [name for name, value, before in self._before if version(value) != before]


class Listener:
    """Hears what a program warns of, each time that it does, as somebody would see it who has not
    changed Python's filters. Nothing of it is shown."""

    def __init__(self) -> None:
        self._heard: list[str] = []
        self._written: int | None = None
        self._put_back = contextlib.ExitStack()

    def __enter__(self) -> "Listener":
        put_back = self._put_back
        if stat.S_ISREG(os.fstat(2).st_mode):
            with contextlib.suppress(OSError):
                self._written = os.open("/proc/self/fd/2", os.O_RDONLY)
                put_back.callback(os.close, self._written)
                os.lseek(self._written, 0, os.SEEK_END)
        put_back.enter_context(warnings.catch_warnings())
        warnings.resetwarnings()
        for unseen in _UNSEEN:
            warnings.simplefilter("ignore", unseen)
        warnings.simplefilter("always", append=True)
        warnings.showwarning = self._hear  # type: ignore[assignment]
        # What C++ says once and for all may have been said before.
        put_back.callback(torch.set_warn_always, torch.is_warn_always_enabled())
        torch.set_warn_always(True)
        return self

    def __exit__(self, *_: object) -> None:
        self._put_back.close()

    def heard(self) -> list[str]:
        """What was warned of since this was last asked, each warning once."""
        if self._written is not None:
            for line in _WRITTEN.findall(os.read(self._written, _MOST_WRITTEN)):
                self._hear(line.decode(errors="replace"), UserWarning)
            os.lseek(self._written, 0, os.SEEK_END)
        heard = list(dict.fromkeys(self._heard))
        self._heard.clear()
        return heard[:_MOST_WARNINGS]

    def _hear(self, message: Warning | str, category: type[Warning], *_: object) -> None:
        if len(self._heard) < _MOST_HEARD:
            first = (str(message).strip().splitlines() or [""])[0]
            self._heard.append(f"{category.__name__}: {_FROM.sub('', first):.200}")


class Memory:
    """The memory of what calls were given and returned, which nobody should keep once the caller
    has let go of it."""

    def __init__(self) -> None:
        self._calls: list[tuple[dict, list[tuple[str, StorageWeakRef]]]] = []

    def note(self, state: dict, values: Iterable[tuple[str, Any]], known: Iterable = ()) -> None:
        """Adds a call, in whose `state` is going to stand what became of its memory. Not of that of
        `known`, which who compiles may keep: tensors that a program closes over."""
        kept = {identity(each.untyped_storage()) for each in known}
        self._calls.append((state, [*_memory_of(values, kept)]))

    def settle(self) -> None:
        """Says so of all calls, once their values are let go of. What hangs in a cycle is nobody's:
        the collector is asked where there is something left, and then once."""
        if any(not weak.expired() for _, named in self._calls for _, weak in named):
            gc.collect()
        for state, named in self._calls:
            kept = (name for name, weak in named if not weak.expired())
            state["kept"] = list(dict.fromkeys(kept))
        self._calls.clear()


def _memory_of(
    values: Iterable[tuple[str, Any]], but: set[int]
) -> Iterator[tuple[str, StorageWeakRef]]:
    for name, value in values:
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, torch.Tensor) and each.layout == torch.strided:
                storage = each.untyped_storage()
                if identity(storage) not in but:
                    yield name, StorageWeakRef(storage)


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


@functools.lru_cache(maxsize=8)  # mostly no generator has moved since it was last looked at
def fnv1a(data: bytes) -> str:
    """FNV-1a of 64 bits, as 16 hexadecimal digits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"
