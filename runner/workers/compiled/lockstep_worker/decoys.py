"""Inputs of which a compiler learns sizes, strides and aliases, and no values: decoys, until the
real ones are handed over."""

import os
from typing import Any

import torch

from . import names, quantized
from .cell import places
from .problems import Malformed
from .tensors import bytes_of

_SEED = 7


def storages_of(value: Any) -> set[int]:
    """The storages that the views in a part of a request are on."""
    if isinstance(value, list):
        return set().union(*map(storages_of, value))
    if not isinstance(value, dict):
        return set()
    index = value.get("storage")
    here = {index} if type(index) is int else set()
    return here.union(*map(storages_of, value.values()))


def given_storages(request: dict) -> list[set[int]]:
    """The storages of the inputs that each call is given: not those that the call before hands
    over."""
    carried = request["program"].get("carry") or {}
    return [
        storages_of(
            [view for name, view in call["inputs"].items() if not at or name not in carried]
        )
        for at, call in enumerate(request["calls"])
    ]


class Given:
    """The bytes of a request's storages in a process that is given them one by one, in one file;
    of those that it has not been given, decoys."""

    def __init__(self, file: int, sizes: list[int], request: dict, known: set[int]) -> None:
        """`known`: the storages that are in the file from the beginning."""
        self._file, self._places, self.known = file, places(sizes), set(known)
        self._calls = given_storages(request)
        self._dtypes: dict[int, torch.dtype] = {}
        for call in request["calls"]:
            for view in call["inputs"].values():
                if isinstance(view, dict) and "storage" in view:
                    self._dtypes.setdefault(view["storage"], _stored(view))

    def hides(self, call: int) -> bool:
        """Whether a call has inputs that have not been given."""
        return not self._calls[call] <= self.known

    def give(self, call: int) -> None:
        """Says that the inputs of a call are in the file."""
        self.known |= self._calls[call]

    def fill(self, index: int, buffer: memoryview) -> None:
        """Fills a buffer with the bytes of a storage, or of its decoy."""
        if index not in self.known:
            buffer[:] = decoy_bytes(len(buffer), self._dtypes.get(index, torch.uint8))
            return
        done = 0
        while done < len(buffer):
            got = os.preadv(self._file, [buffer[done:]], self._places[index] + done)
            if got == 0:
                raise Malformed(f"storage {index}: {done} of {len(buffer)} bytes were handed over")
            done += got


def _stored(view: dict) -> torch.dtype:
    dtype = names.dtype(view["dtype"])
    return quantized.part(dtype) if "quantizer" in view else dtype


def decoy_bytes(size: int, dtype: torch.dtype) -> bytes:
    """Bytes of a storage that are valid for a dtype and say nothing: floats of [0.5, 1.5), and
    ones, which are an index of whatever has two elements, and divide."""
    whole = size // dtype.itemsize
    try:
        if dtype.is_complex or dtype.is_floating_point:
            parts = torch.float64 if dtype == torch.complex128 else torch.float32
            drawn = torch.rand(
                whole * (2 if dtype.is_complex else 1),
                generator=torch.Generator().manual_seed(_SEED),
                dtype=parts,
            )
            made = drawn.add_(0.5)
            made = torch.view_as_complex(made.view(-1, 2)) if dtype.is_complex else made
            made = made.to(dtype)
        else:
            made = torch.ones(whole, dtype=dtype)
        data = bytes(bytes_of(made.untyped_storage())) if whole else b""
    except (RuntimeError, TypeError, NotImplementedError):  # a dtype without numbers of its own
        data = b""
    return data + bytes(size - len(data))
