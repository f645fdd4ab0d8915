"""Inputs from their bits: what the functions of a script call."""

import base64
import os
import zlib
from collections.abc import Iterable

import torch


def bits_of(width: int, numbers: Iterable[int], device: str = "cpu") -> torch.UntypedStorage:
    """A storage of little-endian numbers of so many bytes."""
    return storage_of(b"".join(number.to_bytes(width, "little") for number in numbers), device)


def packed(text: str, device: str = "cpu") -> torch.UntypedStorage:
    """A storage from compressed bytes in base64."""
    return storage_of(zlib.decompress(base64.b64decode(text)), device)


def beside(name: str, device: str = "cpu") -> torch.UntypedStorage:
    """A storage from a file in the folder `values` beside this script."""
    folder = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(folder, "values", name), "rb") as file:
        return storage_of(file.read(), device)


def storage_of(data: bytes, device: str) -> torch.UntypedStorage:
    """A storage of these bytes."""
    flat = torch.frombuffer(bytearray(data or b"\0"), dtype=torch.uint8)[: len(data)].clone()
    return flat.to(device).untyped_storage()


def view(
    storage: torch.UntypedStorage,
    dtype: torch.dtype,
    shape: list[int],
    strides: list[int],
    offset: int = 0,
    device: str = "cpu",
    **flags: bool,
) -> torch.Tensor:
    """A tensor on a storage; `flags` are `conj`, `neg` and `requires_grad`."""
    tensor = torch.empty(0, dtype=dtype, device=device).set_(storage, offset, shape, strides)
    if flags.get("conj"):
        torch._C._set_conj(tensor, True)
    if flags.get("neg"):
        torch._C._set_neg(tensor, True)
    return tensor.requires_grad_(flags.get("requires_grad", False))


def quantized(
    integers: torch.Tensor, scales: list[float], points: list[int], axis: int | None = None
) -> torch.Tensor:
    """A tensor of these integers, with a scale and a zero point for all or for each on an axis."""
    if axis is None:
        return torch._make_per_tensor_quantized_tensor(integers, scales[0], points[0])
    scale, point = (torch.tensor(each, device=integers.device) for each in (scales, points))
    return torch._make_per_channel_quantized_tensor(integers, scale.double(), point, axis)
