"""Quantized tensors: integers that stand for numbers by a scale and a zero point."""

import warnings
from typing import Any

import torch

from .compat.tensors import quantized, quantized_by_channel
from .problems import Malformed, Unsupported, need

_PARTS = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}


def part(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the integers that are stored. Raises `Unsupported` where several share a
    byte."""
    if dtype not in _PARTS:
        raise Unsupported(f"{str(dtype).removeprefix('torch.')} tensors from bytes")
    return _PARTS[dtype]


def parts(quantizer: Any, where: str) -> tuple[list[float], list[int], int | None]:
    """The scales, the zero points and the axis of a quantizer; without an axis there is one of
    each. Raises `Malformed` or `Unsupported`."""
    scheme = need(quantizer, "scheme", f"{where}.quantizer")
    scales = [
        float.fromhex(need(scale, "float", f"{where}.quantizer.scales"))
        for scale in need(quantizer, "scales", where)
    ]
    points = [int(point) for point in need(quantizer, "zero_points", where)]
    if not scales or len(scales) != len(points):
        raise Malformed(f"{where}.quantizer: as many scales as zero points are expected")
    if scheme == "per_tensor_affine":
        return scales, points, None
    if scheme != "per_channel_affine":
        raise Unsupported(f"quantizer {scheme!r:.40}")
    return scales, points, int(quantizer.get("axis", 0))


def make(integers: torch.Tensor, quantizer: Any, where: str) -> torch.Tensor:
    """The tensor of these integers, on a storage of its own. Raises `Malformed` or
    `Unsupported`."""
    scales, points, axis = parts(quantizer, where)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that they are deprecated
        if axis is None:
            return quantized(integers, scales[0], points[0])
        device = integers.device
        return quantized_by_channel(
            integers,
            torch.tensor(scales, dtype=torch.float64, device=device),
            torch.tensor(points, device=device),
            axis,
        )


def describe(tensor: torch.Tensor) -> dict:
    """The `quantizer` of a view. Raises `Unsupported` for a scheme that the protocol lacks."""
    if tensor.qscheme() == torch.per_tensor_affine:
        scales, points, axis = [tensor.q_scale()], [tensor.q_zero_point()], {}
    elif tensor.qscheme() == torch.per_channel_affine:
        scales, points = (
            tensor.q_per_channel_scales().tolist(),
            tensor.q_per_channel_zero_points().tolist(),
        )
        axis = {"axis": tensor.q_per_channel_axis()}
    else:
        raise Unsupported(f"a result quantized with {tensor.qscheme()}")
    scheme = str(tensor.qscheme()).removeprefix("torch.")
    return {
        "scheme": scheme,
        "scales": [{"float": scale.hex()} for scale in scales],
        "zero_points": points,
        **axis,
    }
