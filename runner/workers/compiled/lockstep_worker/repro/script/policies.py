"""Policies: each gives the reason why two values do not agree, or an empty text if they do; so
`close(pair) and no_worse(pair)` asks for one of the two, and `or` for both."""

import math
from typing import Any

import torch

from .values import WORDS, CannotTell, Lost, Value

#: torch.testing.assert_close: dtype → rtol, atol. What is not here must be equal.
CLOSE = {torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5)}
CLOSE |= {torch.float32: (1.3e-6, 1e-5), torch.float64: (1e-7, 1e-7)}


class Pair:
    """Two values of one dtype and shape, a row for each element. Dimensions along which both are
    expanded are looked at once. `golds` has the values of a gold by its kind; it raises `Lost`."""

    def __init__(self, eager: Value, compiled: Value, golds: Any = None) -> None:
        both = zip(eager.shape, eager.strides, compiled.strides)
        self.shape = [1 if a == 0 == b and n else n for n, a, b in both]
        self.elements, self.golds = math.prod(eager.shape), golds
        self.times = self.elements // max(math.prod(self.shape), 1)
        self.dtype, self.quantized = eager.numbers.dtype, "quantizer" in eager.about
        self.floating = self.dtype.is_floating_point
        self.numbers = [self.rows(side) for side in (eager, compiled)]
        self.x, self.y = (side.double() for side in self.numbers)
        self.finite = self.x.isfinite() & self.y.isfinite()
        self.e, self.c = (side.view(WORDS[side.element_size()]) for side in self.numbers)
        self.other = self.e != self.c
        self.differing = self.other & ~(self.x.isnan() & self.y.isnan())
        self.unequal = self.differing & (self.x != self.y) if self.floating else self.other
        self.special = self.differing & ~self.finite  # NaN or infinity on one side

    def rows(self, value: Value) -> torch.Tensor:
        numbers = value.numbers
        for at, size in enumerate(self.shape):
            numbers = numbers.narrow(at, 0, size)
        return numbers.reshape(-1, numbers.shape[-1]).contiguous()

    def noise(self, kind: str) -> list[torch.Tensor]:
        """What a gold, or each of its samples, has for these numbers; nothing where it is lost."""
        try:
            return [self.rows(value) for value in self.golds(kind)]
        except Lost:
            return []

    def said(self, mask: torch.Tensor, rule: str) -> str:
        """How many elements are in the mask, as a reason against a rule; empty if none is."""
        count = int(mask.any(1).sum()) * self.times
        return f"{count} of {self.elements} elements differ under the policy {rule}" * bool(count)

    def ulps(self) -> torch.Tensor:
        """Units in the last place between finite numbers (negative beyond 2^63), or integers: by
        their places in the order of the dtype, floating ones by sign and magnitude."""
        places, width = [], 8 * self.e.element_size()
        for wide in (self.e.long(), self.c.long()):
            if self.dtype == torch.uint64:
                wide = wide ^ -(1 << 63)
            elif not self.dtype.is_signed:
                wide = wide & (1 << width) - 1
            elif self.floating:
                magnitude = wide & (1 << width - 1) - 1
                wide = torch.where(wide < 0, -magnitude, magnitude)
            places.append(wide)
        return (torch.maximum(*places) - torch.minimum(*places)) * self.finite

    def worst(self, most: int) -> list[str]:
        """The elements that are furthest apart: index, eager's and compiled's."""
        mask = (self.unequal if self.unequal.any() else self.other).any(1)
        apart = (self.x - self.y).abs().nan_to_num(math.inf).sum(1)
        lines = []
        for at in torch.where(mask, apart, -1.0).argsort(descending=True, stable=True)[:most]:
            if mask[at]:
                index = [int(i) for i in torch.unravel_index(at, self.shape or (1,))]
                e, c = (side[at].tolist() for side in self.numbers)
                lines.append(f"    {index}: eager {e[0] if len(e) < 2 else complex(*e)}, compiled ")
                lines[-1] += str(c[0] if len(c) < 2 else complex(*c))
        return lines


def eps(dtype: torch.dtype) -> float:
    """From 1 to the next number; torch says half of it for float8_e5m2fnuz."""
    return 0.25 if "e5m2" in str(dtype) else torch.finfo(dtype).eps


def unit(numbers: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The unit in the last place of a dtype at float64 numbers; 0 for integers."""
    if not dtype.is_floating_point:
        return numbers * 0
    tiny = torch.finfo(dtype).tiny
    numbers = numbers.abs().nan_to_num(tiny, tiny).clamp(min=tiny)
    return torch.ldexp(torch.full_like(numbers, eps(dtype)), torch.frexp(numbers).exponent - 1)


def greatest(numbers: torch.Tensor, where: torch.Tensor) -> float:
    """The greatest magnitude."""
    return float(numbers[where].abs().max()) if where.any() else 0.0


def bits(pair: Pair, strict: bool = False) -> str:
    """The same bits; any NaN equals any NaN, unless it is strict."""
    return pair.said(pair.other if strict else pair.differing, "bits")


def equal(pair: Pair) -> str:
    """==; any NaN equals any NaN."""
    return pair.said(pair.unequal, "equal")


def ulp(pair: Pair, most: int) -> str:
    """At most so many units in the last place apart."""
    apart = pair.ulps()
    return pair.said(pair.special | (apart < 0) | (apart > most), f"ulp({most})")


def close(pair: Pair, rtol: float | None = None, atol: float = 0.0, k: float = 0.0) -> str:
    """|c - e| <= atol + rtol |e|, rounded as torch.isclose rounds; with k also what two orders of a
    sum of k terms differ by (Higham & Mary 2019, theorem 2.4)."""
    if rtol is None:
        rtol, atol = CLOSE.get(torch.float32 if pair.quantized else pair.dtype, (0.0, 0.0))
    if k and pair.floating:
        most = greatest(pair.x, pair.x.isfinite())
        atol += 16 * math.sqrt(k) * min(eps(pair.dtype) / 2, 2.0**-24) * most
    if not pair.floating or pair.x.shape[1] == 2:  # exactly; complex numbers by their modulus
        rows = zip(*(side.tolist() for side in pair.numbers))
        sizes = [
            (math.hypot(*(float(b - a) for a, b in zip(e, c))), math.hypot(*e)) for e, c in rows
        ]
        near = [error <= atol + rtol * size and error < math.inf for error, size in sizes]
        return pair.said(pair.unequal & ~torch.tensor(near, dtype=torch.bool)[:, None], "close")
    wide = torch.float64 if pair.dtype == torch.float64 else torch.float32
    half = pair.dtype if pair.dtype in (torch.float16, torch.bfloat16) else wide
    e, c = pair.x.to(wide), pair.y.to(wide)
    r, a = (torch.tensor(each, dtype=torch.float64).to(wide) for each in (rtol, atol))
    allowed = (a + (r * e.abs()).to(half).to(wide)).to(half).to(wide)
    far = pair.special | ((e != c) & ((c - e).abs().to(half).to(wide) > allowed))
    return pair.said(pair.unequal & far, "close")


def against(pair: Pair, kind: str, rule: str) -> tuple[str, torch.Tensor, torch.Tensor]:
    """Before values are held against a gold: the reason why they fail already, the gold, and where
    it tells. NaN and infinities that executions with noise have, too, are no reason."""
    if not pair.unequal.any():
        return "", pair.x, pair.finite
    try:
        (gold,) = (pair.rows(value).double() for value in pair.golds(kind))
    except Lost as why:
        return pair.said(pair.unequal, f"{rule}, no {kind} gold: {why}"), pair.x, pair.finite
    wrong = pair.special
    if wrong.any() and (shown := pair.noise(kind + "_noise")):
        for each in shown + [gold] * (kind == "fp64"):
            number = each.double().to(pair.dtype).double()
            alike = (number == pair.y) | (number.isnan() & pair.y.isnan())
            wrong = wrong & ~(alike | (number.isfinite() & pair.y.isfinite()))
    wrong = wrong | (pair.unequal & pair.finite & ~gold.isfinite())
    return pair.said(wrong, f"{rule}: not finite"), gold, pair.finite & gold.isfinite()


def no_worse(pair: Pair, k: float = 1.0) -> str:
    """At most k times as far from the float64 result as eager, or as twice the worst of eight
    executions that round each step up or down by chance; of gross errors, about as many."""
    reason, gold, judged = against(pair, "fp64", f"no_worse({k:g})")
    if reason or not pair.unequal.any():
        return reason
    looked, atol = int(judged.sum()), CLOSE.get(pair.dtype, (0.0, 0.0))[1]
    floor = eps(pair.dtype) * greatest(gold, judged) if pair.floating else 0.0
    allowed = torch.maximum((gold.abs() / 8).clamp(min=atol), unit(gold, pair.dtype))

    def errors(side: torch.Tensor) -> tuple[float, int]:
        apart = side.double() - gold
        where = judged & apart.isfinite()
        return greatest(apart, where), int((where & (apart.abs() > allowed)).sum())

    (mine, gross), (error, wrong), noise = errors(pair.x), errors(pair.y), 0.0
    for kind in ("", "fp64_noise"):  # the noise is made where it can matter
        for far, many in map(errors, pair.noise(kind) if kind else []):
            noise, gross = max(noise, far), max(gross, many)
        most = int(min(2 * max(k, 1.0) * gross, looked)) + min(2 + looked // 8, 8) + looked // 1000
        if error <= k * max(mine, 2 * noise) + floor and wrong <= most:
            return ""
    of_all = f"error {error:.3g}, eager's {mine:.3g}, that of rounding {noise:.3g}"
    return pair.said(pair.unequal, f"no_worse({k:g}): {of_all}; gross {wrong}, allowed {most}")


def stepwise(pair: Pair, n: float = 1.0) -> str:
    """At most n units further than eager from a float64 computation that rounds each step as eager
    does; beyond that, about as many and as far as executions that round to the other side."""
    reason, gold, judged = against(pair, "stepwise", f"stepwise({n:g})")
    if reason or not pair.unequal.any():
        return reason
    slack, mine, apart = n * unit(gold, pair.dtype), (pair.x - gold).abs(), (pair.y - gold).abs()
    beyond, ties, noise = judged & (apart > mine) & (apart > mine + slack), 0, 0.0
    for side in pair.noise("stepwise_noise") if beyond.any() else []:
        for each in (side, pair.x):
            error = (each.double() - gold).abs()
            where = error.isfinite()
            ties = max(ties, int((where & (error > slack)).sum()))
            noise = max(noise, greatest(error, where))
    most = torch.tensor(greatest(gold, judged), dtype=torch.float64)
    too_far = judged & (apart > 2 * noise + n * unit(most, pair.dtype)) & beyond.any()
    too_many = int(beyond.sum()) * pair.times > (2 * ties * pair.times + 2 if ties else 0)
    return pair.said(beyond if too_many else too_far, f"stepwise({n:g})")


def decided(pair: Pair) -> str:
    """Integers are the same where the float64 result and executions with noise agree with eager;
    elsewhere they lie beyond all of them by at most twice their span."""
    wrong = pair.unequal
    if wrong.any() and not pair.floating:
        gold, samples = pair.noise("fp64"), pair.noise("fp64_noise")
        sides = [pair.numbers[0], *(gold + samples if gold and samples else [])]
        alike = torch.stack([side == sides[0] for side in sides]).all(0)
        least, most = (find(torch.stack(sides).double(), 0) for find in (torch.amin, torch.amax))
        away = torch.maximum(least - pair.y, pair.y - most)
        wrong = wrong & (alike | (away > 2 * (most - least)))
    return pair.said(wrong, "decided")


def of_lockstep(pair: Pair, text: str) -> str:
    """A policy that only Lockstep judges where values are not equal."""
    if pair.unequal.any():
        raise CannotTell(f"only Lockstep judges by {text}")
    return ""
