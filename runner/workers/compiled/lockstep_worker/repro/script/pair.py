"""Two tensors under comparison: what differs between their elements."""

import functools
import math
from collections.abc import Callable

import torch

from .view import View, doubles, floats, integers


class Pair:
    """Two views of one dtype and shape. Masks have one entry for each element; dimensions along
    which both are expanded are looked at once, so that an element stands for `multiplicity`."""

    def __init__(self, eager: View, compiled: View) -> None:
        self.eager, self.compiled, self.multiplicity = eager, compiled, 1
        self._left, self._right = eager.words, compiled.words
        for at, size in enumerate(eager.shape):
            if size > 1 and eager.strides[at] == 0 == compiled.strides[at]:
                self._left, self._right = (
                    words.narrow(at, 0, 1) for words in (self._left, self._right)
                )
                self.multiplicity *= size
        self.shape = list(self._left.shape[:-1])
        parts = self._left.shape[-1]
        # Numbers, a row for each element.
        self.e, self.c = (
            words.reshape(-1, parts).contiguous() for words in (self._left, self._right)
        )

    @functools.cached_property
    def x(self) -> torch.Tensor:
        """Eager's numbers as float64."""
        return doubles(self.e, self.eager.number)

    @functools.cached_property
    def y(self) -> torch.Tensor:
        """Compiled's numbers as float64."""
        return doubles(self.c, self.eager.number)

    @functools.cached_property
    def finite(self) -> torch.Tensor:
        return self.x.isfinite() & self.y.isfinite()

    @functools.cached_property
    def _differs(self) -> torch.Tensor:
        other = self.e != self.c
        return other & ~(self.x.isnan() & self.y.isnan()) if self.eager.is_float else other

    @functools.cached_property
    def payload(self) -> torch.Tensor:
        """Other bits."""
        return (self.e != self.c).any(1)

    @functools.cached_property
    def differs(self) -> torch.Tensor:
        """Other bits; a NaN equals a NaN."""
        return self._differs.any(1)

    @functools.cached_property
    def unequal(self) -> torch.Tensor:
        """Other values: -0 equals +0, a NaN equals a NaN."""
        return (self._differs & (self.x != self.y)).any(1) if self.eager.is_float else self.differs

    @functools.cached_property
    def special(self) -> torch.Tensor:
        """NaN, +Inf or -Inf where the other side has something else."""
        return (
            (self._differs & ~self.finite).any(1)
            if self.eager.is_float
            else torch.zeros_like(self.differs)
        )

    def beyond_ulp(self, steps: int) -> torch.Tensor:
        """More than so many units in the last place apart, of finite numbers; of integers, that
        distance."""
        a, b = (_ordered(words, self.eager.number) for words in (self.e, self.c))
        # At most 2^64 - 1, which wraps around to a negative number.
        apart = torch.maximum(a, b) - torch.minimum(a, b)
        beyond = (apart < 0) | (apart > steps)
        return ((beyond & self.finite) if self.eager.is_float else beyond).any(1)

    def not_close(self, rtol: float, atol: float) -> torch.Tensor:
        """|c - e| > atol + rtol |e|, rounded as torch.isclose rounds in the dtype."""
        if self.eager.is_complex:
            return self._where(
                self.unequal,
                lambda at: not _complex_close(self.x[at].tolist(), self.y[at].tolist(), rtol, atol),
            )
        if not self.eager.is_float:
            if rtol == 0 == atol:
                return self.differs
            a, b = (integers(words, self.eager.number) for words in (self.e, self.c))
            top = 1 << 64 if self.eager.number == "uint64" else 0  # what wrapped around
            left, right = (
                [int(n) + (top if n < 0 else 0) for n in side.flatten().tolist()] for side in (a, b)
            )
            return self._where(
                self.differs, lambda at: _integer_far(left[at], right[at], rtol, atol)
            )
        wide = torch.float64 if self.eager.number == "float64" else torch.float32
        a, b = (side.to(wide) for side in (self.x, self.y))
        allowed = self._round(_constant(atol, wide) + self._round(_constant(rtol, wide) * a.abs()))
        far = ~self.finite | (self._round((b - a).abs()) > allowed)
        return (self._differs & (a != b) & far).any(1)

    def far(self, tol: float) -> torch.Tensor:
        """|e - c| > tol + tol |c| for a number: PyTorch's accuracy gate, in double."""
        return (self.x.isfinite() & ~((self.x - self.y).abs() <= tol + tol * self.y.abs())).any(1)

    def all_close_upstream(self, tol: float) -> bool:
        """torch.allclose(e, c, rtol=tol, atol=tol, equal_nan=True), in the arithmetic of torch."""
        equal = (self.x == self.y).all(1)
        if self.eager.is_complex:
            equal |= self.x.isnan().any(1) & self.y.isnan().any(1)
            return not self._where(
                ~equal,
                lambda at: (
                    not tol > 0
                    or not _complex_close_upstream(self.x[at].tolist(), self.y[at].tolist(), tol)
                ),
            ).any()
        if self.eager.is_float and self.eager.dtype == self.eager.number:
            equal |= (self.x.isnan() & self.y.isnan()).any(1)
        wide = torch.float64 if self.eager.number == "float64" else torch.float32
        narrow = getattr(torch, self.eager.number) if self.eager.is_float else wide
        a, b, limit = self.x.to(wide), self.y.to(wide), _constant(tol, wide)
        allowed = (limit + (limit * b).to(narrow).to(wide).abs()).to(narrow).to(wide)
        actual = (a - b).to(narrow).to(wide).abs()
        near = (actual.isfinite() & (actual <= allowed)).all(1) & (tol > 0)
        return bool((equal | near).all())

    def greatest(self) -> float:
        """Greatest |e| of finite numbers."""
        finite = self.x[self.x.isfinite()]
        return float(finite.abs().max()) if finite.numel() else 0.0

    def _round(self, value: torch.Tensor) -> torch.Tensor:
        """As torch.isclose rounds an intermediate of two tensors of the dtype; it has none for
        8-bit floats."""
        number = self.eager.number
        return (
            value.to(getattr(torch, number)).to(value.dtype)
            if number in ("float16", "bfloat16")
            else value
        )

    def _where(self, mask: torch.Tensor, is_it: Callable[[int], bool]) -> torch.Tensor:
        """The elements of a mask for which `is_it` of their place, one by one."""
        found = torch.zeros_like(mask)
        for (at,) in mask.nonzero().tolist():
            found[at] = is_it(at)
        return found

    def places(self, mask: torch.Tensor, most: int) -> list[tuple[list[int], str, str]]:
        """The first elements of a mask: index, eager's and compiled's element."""
        found = []
        for (at,) in mask.nonzero()[:most].tolist():
            index: list[int] = []
            rest = at
            for size in reversed(self.shape):
                index.insert(0, rest % size)
                rest //= size
            found.append((index, self._text(self.e[at]), self._text(self.c[at])))
        return found

    def _text(self, words: torch.Tensor) -> str:
        view = self.eager
        if view.is_float:
            numbers = floats(words, view.number).tolist()
            return repr(complex(*numbers) if view.is_complex else numbers[0])
        whole = int(integers(words, view.number)) & (
            -1 if view.number != "uint64" else (1 << 64) - 1
        )
        return repr(bool(whole)) if view.dtype == "bool" and whole < 2 else repr(whole)


def _constant(value: float, dtype: torch.dtype) -> torch.Tensor:
    return torch.tensor(value, dtype=torch.float64).to(dtype)


def _ordered(words: torch.Tensor, number: str) -> torch.Tensor:
    """Numbers as int64 in their order and without gaps; floating ones by sign and magnitude."""
    if number == "float8_e8m0fnu":  # has no sign
        return words.to(torch.int64) & 0xFF
    wide = integers(words, number)
    if number == "uint64":
        return wide ^ torch.tensor(-(1 << 63))
    if "float" not in number or number.startswith("float4"):
        return wide
    magnitude = words.to(torch.int64) & ((1 << 8 * words.element_size() - 1) - 1)
    return torch.where(words < 0, -magnitude, magnitude)


def _distance(z: complex) -> float:
    """|z| by the hypot of the C library, as the judge has it."""
    try:
        return abs(z)
    except OverflowError:
        return math.inf


def _complex_close(e: list[float], c: list[float], rtol: float, atol: float) -> bool:
    error = _distance(complex(c[0] - e[0], c[1] - e[1]))
    return math.isfinite(error) and error <= atol + rtol * _distance(complex(*e))


def _complex_close_upstream(e: list[float], c: list[float], tol: float) -> bool:
    actual = _distance(complex(e[0] - c[0], e[1] - c[1]))
    return math.isfinite(actual) and actual <= tol + _distance(complex(tol * c[0], tol * c[1]))


def _integer_far(e: int, c: int, rtol: float, atol: float) -> bool:
    return not float(abs(c - e)) <= atol + rtol * abs(float(e))
