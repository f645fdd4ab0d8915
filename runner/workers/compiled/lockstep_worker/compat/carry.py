"""What one call hands to the next."""

from typing import Any

import torch


def is_zero_tensor(value: torch.Tensor) -> bool:
    """Whether it is torch's zero tensor, which has no memory."""
    return getattr(value, "_is_zerotensor", bool)()


def copied(values: dict[str, Any]) -> dict[str, Any]:
    """Fresh copies of tensors, with the memory that they share: leaves without gradients, with the
    strides, the offset and the lazy bits of what they are copies of. Anything else as it is."""
    copies: dict[int, tuple] = {}  # with the storage itself, so that no other gets its address

    def copy(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if value.layout != torch.strided or value.is_quantized or is_zero_tensor(value):
            return value.detach().clone()
        storage = value.untyped_storage()
        if storage._cdata not in copies:
            copies[storage._cdata] = storage, storage.clone()
        place = value.storage_offset(), value.shape, value.stride()
        fresh = torch.empty(0, dtype=value.dtype, device=value.device)
        fresh.set_(copies[storage._cdata][1], *place)
        if value.is_conj():
            torch._C._set_conj(fresh, True)
        if value.is_neg():
            torch._C._set_neg(fresh, True)
        return fresh

    with torch.no_grad(), torch.inference_mode(False):
        return {name: copy(value) for name, value in values.items()}


def as_input(value: Any, requires_grad: bool) -> Any:
    """A value as an input that requires a gradient, if it can have one."""
    floats = isinstance(value, torch.Tensor) and (value.is_floating_point() or value.is_complex())
    return value.requires_grad_(requires_grad) if floats else value
