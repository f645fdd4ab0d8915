"""Tensors as inputs of a case: the bytes of their storage, and a fill with the same statistics."""

import ctypes
import hashlib
import math
from typing import Any

import torch

from . import worker
from .spool import Spool

worker.load()

from lockstep_worker.compat.carry import is_zero_tensor  # noqa: E402  (its package is loaded above)

#: The most elements of a tensor that is always written out.
SMALL = 64
#: The most elements that are looked at to find a fill.
LOOKED_AT = 1 << 24
#: The greatest bound that the fill `integers` has.
MOST_INTEGER = 1 << 53
#: The most elements that keep a special value of their own beside a fill.
MOST_EXCEPT = 1_000


class Unwritable(Exception):
    """A tensor that no case can give; the message says why."""


def describe(tensors: dict[str, torch.Tensor], spool: Spool | None) -> dict[str, dict]:
    """Each tensor as JSON: `dtype`, `shape`, `strides`, `offset`, `storage`, `bytes` (a digest),
    `fill` and `except`, or `view_of` and its place where it shares the storage of an earlier one.
    With no spool the bytes stay where they are, and `digest` tells them apart. Raises `Unwritable`
    and `Full`."""
    groups: dict[int, list[str]] = {}
    described: dict[str, dict] = {}
    for name, tensor in tensors.items():
        _check(tensor)
        if is_zero_tensor(tensor):
            described[name] = _place(tensor, 0) | _facts(tensor) | {"zero_tensor": True}
            continue
        groups.setdefault(_storage(tensor, name), []).append(name)
    for names in groups.values():
        described.update(_group({name: tensors[name] for name in names}, spool))
    return {name: described[name] for name in tensors}


def _storage(tensor: torch.Tensor, name: str) -> int:
    return tensor.untyped_storage().data_ptr() or -hash(name)


def _check(tensor: torch.Tensor) -> None:
    """Raises `Unwritable`."""
    if tensor.layout != torch.strided:
        raise Unwritable(f"a tensor of layout {str(tensor.layout).removeprefix('torch.')}")
    if tensor.is_nested:
        raise Unwritable("a nested tensor")
    if tensor.device.type == "meta":
        raise Unwritable("a tensor of the device meta")
    if tensor.is_quantized:
        raise Unwritable("a quantized tensor")
    kind = type(tensor)
    if kind not in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer):
        raise Unwritable(f"a tensor of the class {kind.__module__}.{kind.__qualname__}")


def is_writable(tensor: torch.Tensor) -> bool:
    """Whether a case can give a tensor like this."""
    try:
        _check(tensor)
    except Unwritable:
        return False
    return True


def way_of(args: tuple) -> tuple:
    """What two calls have in common of which one is enough: dtypes, shapes, strides, and which
    arguments share memory."""
    first: dict[int, int] = {}
    found: list[Any] = []
    for at, each in enumerate(args):
        if not isinstance(each, torch.Tensor):
            found.append(type(each))
            continue
        owner = at
        if each.layout == torch.strided and not is_zero_tensor(each) and each.numel():
            owner = first.setdefault(each.untyped_storage()._cdata, at)
        lazy = each.is_conj(), each.is_neg()
        strides = each.stride() if each.layout == torch.strided else None
        found.append((tuple(each.shape), strides, each.dtype, owner, *lazy))
    return tuple(found)


def _group(tensors: dict[str, torch.Tensor], spool: Spool | None) -> dict[str, dict]:
    """Tensors of one storage: the first has it, the others are views of that."""
    (first, base), *others = tensors.items()
    begin, end = _reach(base)
    for _, each in others:
        if each.dtype != base.dtype:
            raise Unwritable("two tensors of one storage that have different dtypes")
        begin, end = min(begin, _reach(each)[0]), max(end, _reach(each)[1])
    whole = base.untyped_storage().nbytes() // base.element_size()
    if whole <= 2 * (end - begin) + SMALL:
        begin, end = 0, whole
    found = {first: _place(base, begin) | _facts(base)}
    # Behind what the view reaches there may be more of the storage.
    flat = base.detach().as_strided((end - begin,), (1,), begin)
    if flat.is_conj():
        flat = flat.conj()
    if flat.is_neg():
        flat = torch.ops.aten._neg_view(flat)
    found[first]["storage"] = end - begin
    if spool is None:
        found[first]["digest"] = hashlib.sha256(bytes_of(flat)).hexdigest()
    else:
        last = base.shape[-1] if base.dim() > 1 and base.is_contiguous() else 0
        found[first] |= fill_of(flat, last) | {"bytes": spool.store(bytes_of(flat))}
    for name, each in others:
        found[name] = {"view_of": first} | _place(each, begin) | _facts(each)
    return found


def _reach(tensor: torch.Tensor) -> tuple[int, int]:
    """The first element of the storage that a tensor has, and the one behind its last."""
    begin = tensor.storage_offset()
    if tensor.numel() == 0:
        return begin, begin
    return begin, begin + 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride()))


def _place(tensor: torch.Tensor, begin: int) -> dict:
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "shape": [int(size) for size in tensor.shape],
        "strides": list(tensor.stride()),
        "offset": tensor.storage_offset() - begin,
    }


def _facts(tensor: torch.Tensor) -> dict:
    found: dict = {"device": tensor.device.type}
    for key, holds in (
        ("requires_grad", tensor.requires_grad),
        ("conj", tensor.is_conj()),
        ("neg", tensor.is_neg()),
    ):
        if holds:
            found[key] = True
    return found


def bytes_of(flat: torch.Tensor) -> bytes:
    """The bytes of the elements of a dense tensor."""
    here = flat.contiguous().cpu()
    if is_zero_tensor(here):
        return bytes(here.numel() * here.element_size())
    size = here.numel() * here.element_size()
    return ctypes.string_at(here.data_ptr(), size) if size else b""


def tensor_of(described: dict, data: bytes, base: torch.Tensor | None = None) -> torch.Tensor:
    """The tensor that was described, new; a view of `base` where it was one."""
    dtype = getattr(torch, described["dtype"])
    if described.get("zero_tensor"):
        made = torch._efficientzerotensor(described["shape"], dtype=dtype)
        return made.requires_grad_(described.get("requires_grad", False))
    if base is None:
        base = torch.empty(described["storage"], dtype=dtype)
        ctypes.memmove(base.data_ptr(), data, len(data))
    made = base.as_strided(described["shape"], described["strides"], described["offset"])
    if described.get("conj"):
        made = made.conj()
    if described.get("neg"):
        made = torch.ops.aten._neg_view(made)
    return made.detach().requires_grad_(described.get("requires_grad", False))


def fill_of(flat: torch.Tensor, last: int = 0) -> dict:
    """The `fill` of a case that makes elements like these, and the `except` beside it; a `fill` of
    None where there is none. `last` is the size of the last dimension, if there are several."""
    if flat.numel() == 0:
        return {"fill": {"constant": 0}}
    if flat.dtype == torch.bool:
        return {"fill": _mask(flat[:LOOKED_AT])}
    if flat.dtype.is_complex:
        return {"fill": _complex(flat[:LOOKED_AT])}
    if not flat.dtype.is_floating_point:
        return {"fill": _integers(flat, last) if flat.element_size() <= 8 else None}
    if flat.element_size() == 1:
        flat = flat.float()
    special = _specials(flat)
    if special is None:
        return {"fill": None}
    usual = flat
    if special:
        usual = flat[torch.isfinite(flat) & ~((flat == 0) & torch.signbit(flat))]
    fill = _floats(usual[:LOOKED_AT].to(torch.float64)) if usual.numel() else {"constant": 0.0}
    return {"fill": fill, "except": special} if special and fill else {"fill": fill}


def _specials(flat: torch.Tensor) -> dict[str, list[int]] | None:
    """Where NaN, infinities and negative zeros are; None if they are too many to be told."""
    found: dict[str, list[int]] = {}
    for word, where in (
        ("nan", torch.isnan(flat)),
        ("inf", flat == math.inf),
        ("-inf", flat == -math.inf),
        ("-0.0", (flat == 0) & torch.signbit(flat)),
    ):
        count = int(where.sum())
        if count > min(MOST_EXCEPT, max(flat.numel() // 4, 1)):
            return None
        if count:
            found[word] = where.nonzero()[:, 0].tolist()
    return found


def _mask(flat: torch.Tensor) -> dict:
    share = flat.double().mean().item()
    return {"constant": int(share)} if share in (0.0, 1.0) else {"mask": {"share": _short(share)}}


def _integers(whole: torch.Tensor, last: int) -> dict:
    flat, count = whole[:LOOKED_AT].to(torch.int64), whole.numel()
    low, high = int(flat.min()), int(flat.max())
    if low == high:
        return {"constant": low}
    if count == flat.numel() and count > 2:
        step = int(flat[1] - flat[0])
        if torch.equal(flat, torch.arange(count) * step + flat[0]):
            return {"arange": {"start": int(flat[0]), "step": step}}
        for block in (count, last):
            if block > 2 and count % block == 0 and (low, high) == (0, block - 1):
                rows = flat.reshape(-1, block).sort(dim=1).values
                if bool((rows == torch.arange(block)).all()):
                    return {"permutation": {} if block == count else {"block": block}}
    return {"integers": {"low": max(low, -MOST_INTEGER), "high": min(high + 1, MOST_INTEGER)}}


def _complex(flat: torch.Tensor) -> dict | None:
    parts = torch.view_as_real(flat.to(torch.complex128)).reshape(-1)
    if not bool(torch.isfinite(parts).all()):
        return None
    deviation = parts.std().item() if parts.numel() > 1 else 0.0
    return {"normal": {"std": _short(deviation)}} if deviation else None


def _floats(flat: torch.Tensor) -> dict | None:
    low, high = flat.min().item(), flat.max().item()
    if low == high:
        return {"constant": low}
    if bool((flat == flat.round()).all()) and max(-low, high) < 1 << 20:
        if (low, high) == (0.0, 1.0):
            return _mask(flat)
        return {"integers": {"low": int(low), "high": int(high) + 1}}
    mean, deviation = flat.mean().item(), flat.std().item()
    if not math.isfinite(deviation) or deviation == 0:
        return None
    flatness = (((flat - mean) / deviation) ** 4).mean().item()
    if flatness < 2.2 or low >= 0:
        return {"uniform": {"low": _short(low), "high": _short(high)}}
    return {"normal": {"mean": _short(mean), "std": _short(deviation)}}


def _short(value: float) -> float:
    """A number of a statistic, with the digits that it has."""
    return float(f"{value:.4g}")


def same(a: Any, b: Any) -> bool:
    """Whether two results are the same to the bit, with their dtypes, shapes and strides."""
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        return type(a) is type(b) and (a == b or a != a and b != b)
    if (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
        return False
    return bytes_of(a.detach().resolve_conj().resolve_neg().contiguous()) == bytes_of(
        b.detach().resolve_conj().resolve_neg().contiguous()
    )
