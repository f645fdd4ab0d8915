"""A value as the judge sees it: the bits of its elements, and everything else that is compared."""

import math
from dataclasses import dataclass
from typing import Any

import torch

from .begin import CannotTell

#: Complex and quantized dtypes → the dtype of the numbers that an element consists of.
PARTS = {
    "complex32": "float16",
    "complex64": "float32",
    "complex128": "float64",
    "bcomplex32": "bfloat16",
    "qint8": "int8",
    "quint8": "uint8",
    "qint32": "int32",
}
#: What is compared as bytes only.
OPAQUE = ("float4_e2m1fn_x2", "bits8", "bits16")
FLOATS = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "float8_e5m2",
    "float8_e4m3fn",
    "float8_e5m2fnuz",
    "float8_e4m3fnuz",
    "float8_e8m0fnu",
)
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
#: Integers of torch that hold the bits of a number, by its bytes.
WORDS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


@dataclass
class View:
    """A tensor at one moment, on bytes of its own. Two views of a call share memory where their
    `storage` is the same number."""

    dtype: str
    shape: list[int]
    strides: list[int]
    offset: int
    device: str
    layout: str
    requires_grad: bool
    quantizer: tuple | None
    storage: int
    #: Bytes of the storage.
    bytes: int
    #: The bits as integers of the numbers' width, of the shape and one more dimension: 2 for the
    #: parts of complex elements, else 1. Conj and neg are resolved; expanded dimensions still are.
    words: torch.Tensor

    @property
    def number(self) -> str:
        """The dtype of the numbers that an element consists of."""
        return PARTS.get(self.dtype, self.dtype)

    @property
    def is_float(self) -> bool:
        """Whether the numbers are floating: of real and of complex dtypes."""
        return self.number in FLOATS

    @property
    def is_complex(self) -> bool:
        return "complex" in self.dtype

    @property
    def elements(self) -> int:
        return math.prod(self.shape)


def floats(words: torch.Tensor, number: str) -> torch.Tensor:
    """Bits of a floating dtype as float64, exactly."""
    values = words.contiguous().view(getattr(torch, number))
    return (values.to(torch.float32) if values.element_size() == 1 else values).to(torch.float64)


def integers(words: torch.Tensor, number: str) -> torch.Tensor:
    """Bits of an integer dtype as int64; of uint64 what wraps around."""
    wide = words.to(torch.int64)
    if number in INTEGERS and not number.startswith("u") or words.element_size() == 8:
        return wide
    return wide & ((1 << 8 * words.element_size()) - 1)


def doubles(words: torch.Tensor, number: str) -> torch.Tensor:
    """The numbers as float64; integers beyond 2^53 round."""
    if number in FLOATS:
        return floats(words, number)
    whole = integers(words, number)
    if number != "uint64":
        return whole.to(torch.float64)
    return (whole >> 32 & 0xFFFFFFFF).to(torch.float64) * 2.0**32 + (whole & 0xFFFFFFFF).to(
        torch.float64
    )


class Snapshot:
    """Makes views of the tensors of one call; storages are copied once and numbered as they
    come."""

    def __init__(self) -> None:
        self._copies: dict[int, tuple[int, torch.Tensor]] = {}
        self._alive: list[torch.Tensor] = []  # so that no address is used twice

    def value(self, name: str, value: Any) -> Any:
        """The view of a tensor; a number, a string or None as it is. Raises `CannotTell` for what
        Lockstep compares neither."""
        if isinstance(value, torch.Tensor):
            return self.view(name, value)
        symbolic: dict[type, type] = {torch.SymBool: bool, torch.SymInt: int, torch.SymFloat: float}
        value = symbolic.get(type(value), lambda same: same)(value)
        if value is None or type(value) in (bool, int, float, complex, str):
            return value
        raise CannotTell(f"{name} is a {type(value).__name__}, which Lockstep does not compare")

    def view(self, name: str, tensor: torch.Tensor) -> View:
        """Raises `CannotTell` for a tensor that is not strided, has no bytes or a dtype not known
        here."""
        dtype = str(tensor.dtype).removeprefix("torch.")
        number = PARTS.get(dtype, dtype)
        if number not in (*FLOATS, *INTEGERS, *OPAQUE, "bool"):
            raise CannotTell(f"{name} is of the dtype {dtype}, which Lockstep does not compare")
        if tensor.layout != torch.strided or tensor.device.type == "meta":
            raise CannotTell(
                f"{name} has no strided bytes: layout {tensor.layout}, device {tensor.device}"
            )
        self._alive.append(tensor)
        key = tensor.untyped_storage()._cdata
        if key not in self._copies:
            self._copies[key] = (len(self._copies), _copied(name, tensor))
        index, copy = self._copies[key]
        parts = 2 if "complex" in dtype else 1
        words = torch.empty(0, dtype=WORDS[tensor.element_size() // parts]).set_(
            copy.untyped_storage(),
            tensor.storage_offset() * parts,
            [*tensor.shape, parts],
            [stride * parts for stride in tensor.stride()] + [1],
        )
        return View(
            dtype,
            list(tensor.shape),
            list(tensor.stride()),
            int(tensor.storage_offset()),
            str(tensor.device),
            "strided",
            tensor.requires_grad,
            _quantizer(name, tensor),
            index,
            copy.numel(),
            _resolved(words, number, tensor.is_conj(), tensor.is_neg()),
        )


def _copied(name: str, tensor: torch.Tensor) -> torch.Tensor:
    """The bytes of the storage of a tensor."""
    storage = tensor.untyped_storage()
    if getattr(tensor, "_is_zerotensor", bool)():  # it has a size and no bytes, and reads as zeros
        return torch.zeros(storage.nbytes(), dtype=torch.uint8)
    try:
        missing = storage.nbytes() > 0 and not storage.data_ptr()
    except RuntimeError:
        missing = True
    if missing:
        raise CannotTell(f"{name} is a result without data")
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage).cpu().clone()


def _resolved(words: torch.Tensor, number: str, conj: bool, neg: bool) -> torch.Tensor:
    """The bits that the lazy conj and neg bits of a tensor mean."""
    if not conj and not neg:
        return words
    if number not in FLOATS:
        return -words
    sign = -(1 << 8 * words.element_size() - 1)
    flips = [neg, neg != conj] if words.shape[-1] == 2 else [neg]
    return words ^ torch.tensor([sign if flip else 0 for flip in flips], dtype=words.dtype)


def _quantizer(name: str, tensor: torch.Tensor) -> tuple | None:
    """What the integers of a quantized tensor stand for: scheme, scales, zero points, axis."""
    if not tensor.is_quantized:
        return None
    if tensor.qscheme() == torch.per_tensor_affine:
        return "per_tensor_affine", [tensor.q_scale()], [tensor.q_zero_point()], 0
    if tensor.qscheme() != torch.per_channel_affine:
        raise CannotTell(
            f"{name} is quantized with {tensor.qscheme()}, which Lockstep does not compare"
        )
    return (
        "per_channel_affine",
        tensor.q_per_channel_scales().tolist(),
        tensor.q_per_channel_zero_points().tolist(),
        tensor.q_per_channel_axis(),
    )


def as_view(value: Any) -> View | None:
    """A view, or a number as a view without dimensions; None for what is neither."""
    kinds = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
    if isinstance(value, View) or type(value) not in kinds:
        return value if isinstance(value, View) else None
    try:
        return Snapshot().view("a number", torch.tensor(value, dtype=kinds[type(value)]))
    except (RuntimeError, OverflowError, ValueError) as error:
        raise CannotTell(f"{value} is beyond 64 bits: {error}") from None
