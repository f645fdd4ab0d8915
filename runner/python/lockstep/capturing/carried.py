"""State that one call of a graph hands to the next: inputs that are what the call before left."""

import hashlib
import weakref
from typing import Any, NamedTuple

import torch

from . import tensors

#: How many calls of a graph that hand nothing over are looked at, before none is any more.
MOST_LOOKED_AT = 8


class Left(NamedTuple):
    """What a call left: the place, `{"output": 0}` or `{"input": "w"}`, and what is there."""

    place: dict
    shaped: tuple
    digest: str
    #: Whether its elements differ, so that another tensor is hardly the same by chance.
    telling: bool
    tensor: Any  # a weak reference


class State:
    """What the newest call that was noted was given, and has left."""

    def __init__(self) -> None:
        self.looked_at = 0
        self._given: dict[str, str] = {}
        self._left: list[Left] = []

    def begin(self, inputs: dict[str, torch.Tensor]) -> None:
        """Notes a call before it is made."""
        self._given = {name: _digest(each) for name, each in inputs.items() if each.requires_grad}
        self._left = []

    def end(self, outputs: Any, inputs: dict[str, torch.Tensor], written: list[str]) -> None:
        """Notes what the call has left: the inputs that it wrote to, and its outputs."""
        named: list[tuple[dict, Any]] = [({"input": name}, inputs[name]) for name in written]
        named += [({"output": at}, each) for at, each in enumerate(outputs)]
        left = [
            _left(place, each)
            for place, each in named
            if isinstance(each, torch.Tensor) and tensors.is_writable(each)
        ]
        shapes = {each.shaped for each in left if "output" in each.place}
        given = {(_shaped(t), _digest(t)) for t in inputs.values() if _shaped(t) in shapes}
        self._left = [
            each
            for each in left
            if "input" in each.place or (each.shaped, each.digest) not in given  # else no news
        ]

    def carried(self, inputs: dict[str, torch.Tensor]) -> dict[str, dict]:
        """The inputs that are, to the bit, what the call before has left: where it has it."""
        found = {name: self._place(name, each) for name, each in inputs.items()}
        return {name: place for name, place in found.items() if place is not None}

    def goes_on(self, inputs: dict[str, torch.Tensor], carried: dict[str, dict]) -> bool:
        """Whether a call goes on from the one before: it takes something over, and nothing that has
        a gradient was changed between them, as an optimizer does."""
        if not carried:
            self.looked_at += 1
            return False
        return all(
            _digest(each) == self._given.get(name)
            for name, each in inputs.items()
            if each.requires_grad and name not in carried
        )

    def _place(self, name: str, tensor: torch.Tensor) -> dict | None:
        own: dict[str, Any] = {"input": name}
        like = [each for each in self._left if each.shaped == _shaped(tensor)]
        digest = _digest(tensor) if like else ""
        for each in sorted(like, key=lambda each: each.place != own):
            sure = each.telling or each.place == own or each.tensor() is tensor
            if each.digest == digest and sure:
                return each.place
        return None


def _left(place: dict, tensor: torch.Tensor) -> Left:
    flat = tensor.detach().reshape(-1)
    telling = flat.numel() > 1 and bool((flat != flat[0]).any())
    return Left(place, _shaped(tensor), _digest(tensor), telling, weakref.ref(tensor))


def _shaped(tensor: torch.Tensor) -> tuple:
    return tensor.dtype, tuple(tensor.shape), tensor.stride()


def _digest(tensor: torch.Tensor) -> str:
    plain = tensor.detach().resolve_conj().resolve_neg().contiguous()
    return hashlib.sha256(tensors.bytes_of(plain)).hexdigest()
