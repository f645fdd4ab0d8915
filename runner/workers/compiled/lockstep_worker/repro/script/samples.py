"""Two samples of one distribution, as far as their moments tell."""

import math
from dataclasses import dataclass

from .view import View, doubles

#: The least number of elements whose moments are judged.
LEAST_SAMPLE = 64
#: What another order of a sum may change in a moment, and more, relatively: no answer rests on it.
EDGE = 1e-9


@dataclass
class Moments:
    """Of the finite numbers of a tensor; those along expanded dimensions count once."""

    finite: int
    nonfinite: int
    mean: float = 0.0
    variance: float = 0.0
    fourth: float = 0.0  # central


def moments_of(view: View) -> Moments:
    words = view.words
    for at, size in enumerate(view.shape):
        words = words.narrow(at, 0, 1) if size > 1 and view.strides[at] == 0 else words
    numbers = doubles(words, view.number).reshape(-1)
    finite = numbers[numbers.isfinite()]
    moments = Moments(finite.numel(), numbers.numel() - finite.numel())
    if moments.finite:
        values = finite.tolist()
        moments.mean = math.fsum(values) / moments.finite
        squares = [(value - moments.mean) * (value - moments.mean) for value in values]
        moments.variance = math.fsum(squares) / moments.finite
        moments.fourth = math.fsum(square * square for square in squares) / moments.finite
    return moments


def normal_quantile(probability: float) -> float:
    """z with P(|N(0, 1)| > z) = probability."""
    low, high = 0.0, 40.0
    for _ in range(100):
        middle = (low + high) / 2
        if math.erfc(middle / math.sqrt(2.0)) > probability:
            low = middle
        else:
            high = middle
    return high


def samples_agree(eager: View, compiled: View, false_alarm: float) -> bool | None:
    """Whether share of non-finite, mean and variance are as far apart as chance allows, a third of
    the false alarms each; None where that hangs on the last digits of a sum."""
    e, c = moments_of(eager), moments_of(compiled)
    if eager.elements < LEAST_SAMPLE:
        return e.nonfinite > 0 or c.nonfinite == 0
    z = normal_quantile(false_alarm / 3)
    n, m = e.finite + e.nonfinite, c.finite + c.nonfinite
    pooled = (e.nonfinite + c.nonfinite) / (n + m)
    shares = z * math.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m))
    checks = [(abs(e.nonfinite / n - c.nonfinite / m), shares, 1.0)]
    if e.finite and c.finite:
        squares = e.variance / e.finite + c.variance / c.finite
        checks.append(
            (
                abs(c.mean - e.mean),
                z * math.sqrt(squares) + 1e-12 * abs(e.mean),
                abs(e.mean) + abs(c.mean),
            )
        )
        spread = sum(max(0.0, s.fourth - s.variance * s.variance) / s.finite for s in (e, c))
        checks.append(
            (
                abs(c.variance - e.variance),
                z * math.sqrt(spread) + z * z * squares + 1e-12 * e.variance,
                e.variance + c.variance,
            )
        )
    answer: bool | None = True
    for apart, bound, size in checks:
        # Equal moments are within any bound, whatever the digits.
        if apart > 0 and abs(apart - bound) <= EDGE * max(apart, bound) + 1e-14 * size:
            answer = None
        elif apart > bound:
            return False
    return answer
