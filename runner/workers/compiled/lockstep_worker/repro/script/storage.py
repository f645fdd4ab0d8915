"""Inputs from bits: what the functions of a case call."""

import base64
import zlib
from collections.abc import Iterable

import torch


def bits(width: int, numbers: Iterable[int], device: str = "cpu") -> torch.UntypedStorage:
    """A storage of little-endian numbers of so many bytes."""
    return stored(b"".join(number.to_bytes(width, "little") for number in numbers), device)


def packed(text: str, device: str = "cpu") -> torch.UntypedStorage:
    """A storage from compressed bytes in base64."""
    return stored(zlib.decompress(base64.b64decode(text)), device)


def stored(data: bytes, device: str) -> torch.UntypedStorage:
    """A storage of these bytes."""
    flat = (
        torch.frombuffer(bytearray(data), dtype=torch.uint8).clone()
        if data
        else torch.empty(0, dtype=torch.uint8)
    )
    return flat.to(device).untyped_storage()


def view(
    storage: torch.UntypedStorage,
    dtype: torch.dtype,
    shape: list[int],
    strides: list[int],
    offset: int,
    device: str = "cpu",
    conj: bool = False,
    neg: bool = False,
    requires_grad: bool = False,
) -> torch.Tensor:
    """A tensor on a storage, as an input of the case is."""
    tensor = torch.empty(0, dtype=dtype, device=device).set_(storage, offset, shape, strides)
    if conj:
        torch._C._set_conj(tensor, True)
    if neg:
        torch._C._set_neg(tensor, True)
    return tensor.requires_grad_() if requires_grad else tensor


def quantized(
    integers: torch.Tensor, scales: list[float], points: list[int], axis: int | None = None
) -> torch.Tensor:
    """A quantized tensor of these integers; with an axis, each of its indices has a scale and a
    zero point."""
    if axis is None:
        return torch._make_per_tensor_quantized_tensor(integers, scales[0], points[0])
    device = integers.device
    return torch._make_per_channel_quantized_tensor(
        integers,
        torch.tensor(scales, dtype=torch.float64, device=device),
        torch.tensor(points, device=device),
        axis,
    )
