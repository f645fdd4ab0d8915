"""Whether two results differ, and by how much: to the bit, in metadata, and in who shares memory
with whom."""

from collections.abc import Sequence
from typing import Any

import torch

#: What a difference counts that no tolerance excuses: metadata, NaN against a number, another
#: integer.
GROSS = 1.0
#: What a zero of the other sign counts, which has no relative error.
SIGN = 1e-18


def difference(right: Any, wrong: Any) -> float:
    """0 where they agree to the bit (any NaN is every NaN); else the greatest relative error of an
    element, at most `GROSS`, or `GROSS` for what has none. Metadata are dtype, shape, strides,
    offset, `requires_grad` and the lazy conjugation."""
    if isinstance(right, torch.Tensor) and isinstance(wrong, torch.Tensor):
        return (
            GROSS
            if metadata(right) != metadata(wrong)
            else _of_values(right.detach(), wrong.detach())
        )
    if isinstance(right, (list, tuple)) and isinstance(wrong, (list, tuple)):
        return (
            GROSS if len(right) != len(wrong) else max(map(difference, right, wrong), default=0.0)
        )
    return (
        0.0
        if type(right) is type(wrong) and (right == wrong or right != right and wrong != wrong)
        else GROSS
    )


def metadata(tensor: torch.Tensor) -> tuple:
    """What the judge compares of a tensor before its values."""
    if tensor.layout != torch.strided:
        return tensor.dtype, tuple(tensor.shape), tensor.layout
    return (
        tensor.dtype,
        tuple(tensor.shape),
        tensor.stride(),
        tensor.storage_offset(),
        tensor.requires_grad,
        tensor.is_conj(),
        tensor.is_neg(),
    )


def sharing(tensors: Sequence[Any]) -> list[tuple[int, int]]:
    """Which of them share a storage, by their places."""
    found = [
        (at, each.untyped_storage()._cdata)
        for at, each in enumerate(tensors)
        if isinstance(each, torch.Tensor) and each.layout == torch.strided
    ]
    return [(a, b) for a, first in found for b, second in found if a < b and first == second]


def _of_values(right: torch.Tensor, wrong: torch.Tensor) -> float:
    if (
        right.numel() == 0
        or right.device.type == "meta"
        or right.is_quantized
        or right.layout != torch.strided
    ):
        return 0.0
    right, wrong = right.resolve_conj().resolve_neg(), wrong.resolve_conj().resolve_neg()
    if torch.equal(_bytes(right), _bytes(wrong)):
        return 0.0
    if right.is_complex():
        return _of_values(torch.view_as_real(right), torch.view_as_real(wrong))
    if not right.is_floating_point():
        return GROSS
    right, wrong = right.double(), wrong.double()
    equal = (right == wrong) | right.isnan() & wrong.isnan()
    if bool((equal & ((right.signbit() == wrong.signbit()) | right.isnan())).all()):
        return 0.0
    error = torch.where(equal, 0.0, ((right - wrong).abs() / right.abs()).nan_to_num(GROSS, GROSS))
    return min(max(float(error.max()), SIGN), GROSS)


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)
