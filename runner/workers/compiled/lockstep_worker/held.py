"""What of a storage the runner has already (design/protocol.md, "Held storages"): its blocks are
digested where it lies."""

import ctypes
import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from .compat import accelerator
from .problems import Malformed, need

#: Bytes of a block; the last one of a storage may have fewer.
BLOCK = 1 << 16
#: Hexadecimal digits of a digest.
_DIGITS = 32


def blocks_of(size: int) -> int:
    """How many blocks so many bytes are."""
    return (size + BLOCK - 1) // BLOCK


class Held:
    """The storages whose bytes the runner has: those that a request names, and those that its
    observation has described so far. `given` is the request's `held`; None: nothing is digested.
    `libraries` has, by the kind of a device, the shared object that digests storages there
    (workers/digests/)."""

    def __init__(self, given: object = None, libraries: dict[str, str] | None = None) -> None:
        self._libraries = {} if given is None else libraries or {}
        self._held: list[tuple[dict, int, list[bytes]]] = []
        if given is None:
            return
        if not isinstance(given, list):
            raise Malformed("held: a list is expected")
        for i, each in enumerate(given):
            size, text = need(each, "bytes", f"held[{i}]"), need(each, "digests", f"held[{i}]")
            if (
                type(size) is not int
                or size < 0
                or not isinstance(text, str)
                or len(text) != blocks_of(size) * _DIGITS
            ):
                raise Malformed(
                    f"held[{i}]: a size, and 32 hexadecimal digits for each block, are expected"
                )
            self._held.append(
                (
                    {"held": i},
                    size,
                    [_digest(text[at : at + _DIGITS]) for at in range(0, len(text), _DIGITS)],
                )
            )

    def digest(self, storage: torch.UntypedStorage) -> list[bytes] | None:
        """The digests of the blocks of a storage; None where they are not worth it (less than a
        block) or cannot be had, which standard error says."""
        size, device = storage.nbytes(), storage.device
        if size < BLOCK or device.type not in self._libraries:
            return None
        there = _load(device.type, self._libraries[device.type])
        if there is None:
            return None
        try:
            address = storage.data_ptr()
        except RuntimeError:  # a fake tensor's has a size alone
            return None
        if not address:
            return None
        accelerator.synchronize(device)
        words = (ctypes.c_uint64 * (2 * blocks_of(size)))()
        why = there(device.index or 0, address, size, words)
        if why is not None:
            _complain(device.type, why.decode(errors="replace"))
            return None
        return [
            bytes(memoryview(words).cast("B")[at : at + 16])
            for at in range(0, 16 * blocks_of(size), 16)
        ]

    def most_alike(self, size: int, digests: list[bytes]) -> tuple[dict, list[int]] | None:
        """The name of the storage of which most is the same, and the blocks that differ; None where
        more than half of each differs."""
        best, least = None, len(digests) // 2 + 1  # blocks that differ, to be beaten
        for name, held_size, held in self._held:
            if held_size != size:
                continue
            differing = [i for i, (one, other) in enumerate(zip(digests, held)) if one != other]
            if len(differing) < least:
                best, least = (name, differing), len(differing)
        return best

    def add(self, index: int, size: int, digests: list[bytes]) -> None:
        """Adds storage `index` of the observation."""
        self._held.append(({"storage": index}, size, digests))


def _digest(text: str) -> bytes:
    try:
        return int(text[:16], 16).to_bytes(8, "little") + int(text[16:], 16).to_bytes(8, "little")
    except ValueError:
        raise Malformed(f"held: {text!r} is no digest") from None


def _complain(kind: str, why: str) -> None:
    print(
        f"tensors on {kind} are sent whole, for they cannot be digested there: {why}",
        file=sys.stderr,
    )


@functools.cache
def _load(kind: str, file: str) -> Callable[..., Any] | None:
    """`lockstep_device_digests_1` of a shared object. It is loaded once in a process, and what it
    lacks is said once."""
    try:
        function = ctypes.CDLL(file).lockstep_device_digests_1
    except (OSError, AttributeError) as error:
        _complain(kind, str(error))
        return None
    function.restype = ctypes.c_char_p
    function.argtypes = [
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_uint64,
        ctypes.POINTER(ctypes.c_uint64),
    ]
    return function
