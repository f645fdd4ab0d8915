"""What a call leaves behind, as it was at one moment: bits, and what there is beside them."""

from dataclasses import dataclass
from typing import Any

import torch

#: Integers that hold the bits of a number, by its bytes.
WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
#: What is compared as numbers of these bits.
BYTES = {torch.bool: torch.uint8, torch.bits8: torch.uint8, torch.bits16: torch.uint16}
BYTES |= {getattr(torch, "float4_e2m1fn_x2", torch.bool): torch.uint8}
KINDS = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}


class CannotTell(Exception):
    """Neither "they agree" nor "they do not" can be claimed; the message says why."""


class Lost(Exception):
    """There is no such gold; the message says why."""


@dataclass
class Value:
    """A tensor or a number. Values of a call share memory where their `storage` is the same."""

    about: dict[str, Any]
    shape: list[int]
    strides: list[int]
    offset: int
    storage: int | None
    numbers: torch.Tensor  # on the CPU, a row for each element: complex ones have two numbers


def value_of(name: str, value: Any) -> Any:
    """A tensor or a number as a `Value`; None and a string as they are. Raises `CannotTell` for
    what Lockstep does not compare."""
    if isinstance(value, (torch.SymBool, torch.SymInt, torch.SymFloat)):
        value = value.node.pytype(value)
    if value is None or isinstance(value, str):
        return value
    about: dict[str, Any] = {"kind": type(value).__name__}
    try:
        if type(value) in KINDS:
            number = torch.tensor(value, dtype=KINDS[type(value)])
            return Value(about, [], [], 0, None, numbers_of(number))
        about = {what: getattr(value, what) for what in ("dtype", "device", "layout")}
        about |= {"shape": list(value.shape), "requires_grad": value.requires_grad}
        if value.is_quantized:
            alike = value.qscheme() == torch.per_tensor_affine
            names = "scale zero_point" if alike else "scales zero_points axis"
            names = names if alike else "per_channel_" + names.replace(" ", " per_channel_")
            about["quantizer"] = [str(getattr(value, f"q_{each}")()) for each in names.split()]
        storage, shape, strides = value.untyped_storage(), list(value.shape), list(value.stride())
        shared = storage._cdata if storage.nbytes() else None
        return Value(about, shape, strides, value.storage_offset(), shared, numbers_of(value))
    except Exception as error:
        raise CannotTell(f"{name} cannot be compared, {about}: {error!r:.200}") from None


def numbers_of(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers of a tensor, copied; those of quantized ones are their integers."""
    tensor = tensor.detach()
    if getattr(tensor, "_is_zerotensor", bool)():  # it has no bytes, and reads as zeros
        tensor = torch.zeros(tensor.shape, dtype=tensor.dtype)
    storage, shape = tensor.untyped_storage(), tensor.shape
    if storage.nbytes() and not storage.data_ptr():
        raise ValueError("a result without data")
    if tensor.dtype in BYTES:
        words = torch.empty(0, dtype=BYTES[tensor.dtype], device=tensor.device)
        tensor = words.set_(storage, tensor.storage_offset(), shape, tensor.stride())
    tensor = tensor.int_repr() if tensor.is_quantized else tensor
    if not tensor.is_complex():
        return tensor.resolve_neg().cpu().clone().unsqueeze(-1)
    flips = torch.tensor([tensor.is_neg(), tensor.is_neg() != tensor.is_conj()])
    parts = torch.view_as_real(tensor.conj() if tensor.is_conj() else tensor)
    parts = torch._neg_view(parts) if parts.is_neg() else parts
    return torch.where(flips, -parts.cpu(), parts.cpu())


def metadata_difference(eager: Any, compiled: Any, strides: str) -> str:
    """What differs apart from the values; empty if nothing. `strides`: `exact` compares all of
    them, `significant` those along more than one index, `ignore` none."""
    if not isinstance(eager, Value) or not isinstance(compiled, Value):
        same = type(eager) is type(compiled)
        return "" if same else f"kind: eager {eager!r:.200}, compiled {compiled!r:.200}"
    for what in {**eager.about, **compiled.about}:
        if eager.about.get(what) != compiled.about.get(what):
            return f"{what}: eager {eager.about.get(what)}, compiled {compiled.about.get(what)}"
    counts = [strides == "exact" or n > 1 and 0 not in eager.shape for n in eager.shape]
    both = zip(counts, eager.strides, compiled.strides)
    if strides != "ignore" and any(counted and a != b for counted, a, b in both):
        return f"strides: eager {eager.strides}, compiled {compiled.strides}"
    return ""


def alias_difference(eager: dict[str, Any], compiled: dict[str, Any]) -> str:
    """What differs in who shares memory with whom, and at which offset."""
    names = [name for name, value in eager.items() if isinstance(value, Value)]
    names = [name for name in names if isinstance(compiled.get(name), Value)]
    for i, name in enumerate(names):
        for other in names[:i]:
            sides = [(side[name], side[other]) for side in (eager, compiled)]
            e, c = (a.storage is not None and a.storage == b.storage for a, b in sides)
            if e != c:
                return f"{name} {'shares' if e else 'does not share'} memory with {other} in eager"
            if e and eager[name].offset != compiled[name].offset:
                return f"{name} shares memory with {other} at another offset than in eager"
    return ""
