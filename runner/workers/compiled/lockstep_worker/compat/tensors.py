"""What tensors have that torch shows to nobody: bits, the identity of storages, quantizers."""

import torch


def set_conj_neg(tensor: torch.Tensor, conj: bool, neg: bool) -> None:
    """Sets the lazy conjugation and negation bits of a view in place, without making another view
    of it: the result shares nothing but its storage, as an input does."""
    if conj:
        torch._C._set_conj(tensor, True)
    if neg:
        torch._C._set_neg(tensor, True)


def version(tensor: torch.Tensor) -> int:
    """How often it, or what it is a view of, was written to, as autograd counts."""
    return tensor._version


def identity(storage: torch.UntypedStorage) -> int:
    """A number that two storages have in common only if they are one. Addresses do not tell: that
    of every empty storage is 0."""
    return storage._cdata


def quantized(integers: torch.Tensor, scale: float, zero_point: int) -> torch.Tensor:
    """The tensor of these integers with one scale, on a storage of its own."""
    return torch._make_per_tensor_quantized_tensor(integers, scale, zero_point)


def quantized_by_channel(
    integers: torch.Tensor, scales: torch.Tensor, zero_points: torch.Tensor, axis: int
) -> torch.Tensor:
    """The tensor of these integers with a scale for each index along `axis`, on a storage of its
    own."""
    return torch._make_per_channel_quantized_tensor(integers, scales, zero_points, axis)


def zeros(shape: list[int], dtype: torch.dtype, device: str) -> torch.Tensor:
    """torch's zero tensor: contiguous zeros without memory."""
    return torch._efficientzerotensor(shape, dtype=dtype, device=device)


def is_zeros(tensor: torch.Tensor) -> bool:
    """Whether it is a zero tensor, or a view of one. No tensor is to a torch that cannot say: it is
    asked of every result."""
    return getattr(tensor, "_is_zerotensor", bool)()
