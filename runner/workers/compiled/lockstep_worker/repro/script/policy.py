"""Policies: under which rules two values agree, as Lockstep's judge decides."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from .indices import indices_agree
from .pair import Pair
from .samples import samples_agree
from .view import FLOATS, INTEGERS, PARTS, View

#: torch.testing.assert_close: dtype → rtol, atol. What is not here must be equal.
CLOSE = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}
#: Bits of the mantissa of floating dtypes.
MANTISSA = {
    "float16": 10,
    "bfloat16": 7,
    "float32": 23,
    "float64": 52,
    "float8_e5m2": 2,
    "float8_e4m3fn": 3,
    "float8_e5m2fnuz": 2,
    "float8_e4m3fnuz": 3,
    "float8_e8m0fnu": 0,
}
#: Policies that have one number, and what it is where none is given.
NUMBER = {
    "ulp": math.nan,
    "same": 1e-4,
    "same_upstream": 1e-4,
    "no_worse": 1.0,
    "stepwise": 1.0,
    "statistical": 1e-9,
}
PLAIN = ("bits", "bits_strict", "equal", "exact", "decided", "metadata")


@dataclass
class Policy:
    """A policy as a case spells it, taken apart."""

    text: str
    kind: str
    number: float = 0.0
    options: dict[str, float] = field(default_factory=dict)
    of: str = ""
    children: list["Policy"] = field(default_factory=list)


def parse_policy(text: str) -> Policy:
    """Reads `any_of(close(k=8), no_worse(1))`. Raises `ValueError`."""
    match = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text, re.DOTALL)
    if not match:
        raise ValueError(f"{text!r:.200} is not a policy")
    kind, arguments = match.group(1), _arguments(match.group(2) or "")
    policy = Policy(text.strip(), kind)
    if kind in ("any_of", "all_of") and arguments:
        policy.children = [parse_policy(argument) for argument in arguments]
        return policy
    keys = {"close": ("rtol", "atol", "k"), "index_equivalent": ("dim",)}.get(kind, ())
    given = []
    for argument in arguments:
        key, equals, value = (part.strip() for part in argument.partition("="))
        if equals and key in keys:
            policy.options[key] = float(value)
        else:
            given.append(argument.strip())
    known = (
        kind in PLAIN
        and not given
        or kind == "close"
        and not given
        and (("rtol" in policy.options) == ("atol" in policy.options))
    )
    if kind in NUMBER and len(given) < 2:
        policy.number = float(given[0]) if given else NUMBER[kind]
        known = not math.isnan(policy.number)
    elif kind == "index_equivalent" and len(given) == 1:
        policy.of, known = given[0].removeprefix("of=").strip(), True
    if not known:
        raise ValueError(f"{text!r:.200} is not a policy")
    return policy


def _arguments(text: str) -> list[str]:
    """What commas separate, outside of brackets."""
    found, depth = [""], 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return found if text.strip() else []


def default_policy(contract: str, dtype: str) -> Policy:
    """What a path's contract means for an output of that dtype, where the case says nothing."""
    number = PARTS.get(dtype, dtype)
    if number not in FLOATS:
        return parse_policy("exact" if contract == "bits" else "decided")
    return parse_policy(
        {"bits": "bits", "casts": "any_of(close, stepwise(1))"}.get(
            contract, "any_of(close, no_worse(1))"
        )
    )


@dataclass
class Answer:
    """Whether a policy holds: None where a gold decides, which a script does not have. `why` then
    says so."""

    holds: bool | None
    why: str = ""
    status: str = "value_diverges"


def check(policy: Policy, pair: Pair, tensor_of: Callable[[str, str], View | None]) -> Answer:
    """Whether the two values agree. `tensor_of` gives a tensor of the call by side and name."""
    if policy.children:
        answers = [check(child, pair, tensor_of) for child in policy.children]
        if policy.kind == "all_of":
            return next(
                (a for a in answers if a.holds is False),
                next((a for a in answers if a.holds is None), Answer(True)),
            )
        unknown = [a for a in answers if a.holds is None]
        if any(a.holds for a in answers):
            return Answer(True)
        return Answer(None, "; ".join(a.why for a in unknown)) if unknown else answers[0]
    # Rules that are not about the same position on both sides, or that are upstream's and as they
    # are.
    if policy.kind not in ("same_upstream", "metadata", "statistical") and pair.special.any():
        return Answer(False, status="nonfinite_diverges")
    return _check_one(policy, pair, tensor_of)


def _check_one(policy: Policy, pair: Pair, tensor_of: Callable[[str, str], View | None]) -> Answer:
    kind = policy.kind
    if kind == "metadata":
        return Answer(True)
    if kind in ("bits", "bits_strict"):
        return Answer(not (pair.differs if kind == "bits" else pair.payload).any())
    if kind == "statistical":
        holds = samples_agree(pair.eager, pair.compiled, policy.number)
        return Answer(
            holds, f"{policy.text} is too near its bound to tell" if holds is None else ""
        )
    if kind == "same_upstream":
        if pair.all_close_upstream(policy.number):
            return Answer(True)
        # Of complex tensors upstream raises, whatever the gold.
        return (
            Answer(False)
            if pair.eager.dtype == "bool" or pair.eager.is_complex
            else _gold_decides(policy, "fp64")
        )
    if kind == "index_equivalent":
        if not pair.differs.any():
            return Answer(True)
        of = tensor_of("eager", policy.of), tensor_of("compiled", policy.of)
        if pair.eager.dtype not in INTEGERS or of[0] is None or of[1] is None:
            return Answer(False)
        dim = policy.options.get("dim")
        return Answer(
            indices_agree(
                pair.eager, pair.compiled, of[0], of[1], None if dim is None else int(dim)
            )
        )
    if not pair.unequal.any():
        # Only the sign of zero or the payload of a NaN can differ: every rule from here on lets it
        # pass.
        return Answer(True)
    if kind == "ulp":
        return Answer(not pair.beyond_ulp(int(policy.number)).any())
    if kind == "close":
        return Answer(not pair.not_close(*tolerance(policy, pair)).any())
    if kind == "same":
        if not pair.eager.is_float:
            return Answer(False)
        return (
            Answer(True) if not pair.far(policy.number).any() else _gold_decides(policy, "stepwise")
        )
    if kind in ("no_worse", "stepwise"):
        return _gold_decides(policy, "fp64" if kind == "no_worse" else "stepwise")
    return Answer(False)  # equal, exact


def tolerance(policy: Policy, pair: Pair) -> tuple[float, float]:
    """rtol and atol of a `close` policy for these values."""
    number = pair.eager.number
    table = (
        CLOSE["float32"]
        if pair.eager.dtype.startswith(("qint", "quint"))
        else CLOSE.get(number, (0.0, 0.0))
    )
    rtol, atol = policy.options.get("rtol", table[0]), policy.options.get("atol", table[1])
    if "k" in policy.options and pair.eager.is_float:
        # A sum of k terms in another order: Higham & Mary 2019, theorem 2.4, lambda = 8 on each
        # side.
        roundoff = min(2.0 ** -(MANTISSA[number] + 1), 2.0**-24)
        atol += 16 * math.sqrt(policy.options["k"]) * roundoff * pair.greatest()
    return rtol, atol


def _gold_decides(policy: Policy, gold: str) -> Answer:
    return Answer(None, f"{policy.text} is decided by the {gold} gold, which only Lockstep makes")
