"""Policies, as a case spells them, as expressions of a script (script/policies.py)."""

import math
import re

#: Policies that a script judges: how many numbers they take, and which words by name.
_JUDGED = {
    "bits": (0, ()),
    "bits_strict": (0, ()),
    "equal": (0, ()),
    "exact": (0, ()),
    "decided": (0, ()),
    "ulp": (1, ()),
    "no_worse": (1, ()),
    "stepwise": (1, ()),
    "close": (0, ("rtol", "atol", "k")),
}
#: Those that only Lockstep judges where values are not equal.
_OF_LOCKSTEP = {"same": 1, "same_upstream": 1, "statistical": 1, "index_equivalent": 1}
_NAMES = {"exact": "equal", "bits_strict": "bits"}


def rule_text(policy: str) -> str:
    """The rule of a policy, a function of a `Pair`: `bits`, or `lambda p: close(p) and
    no_worse(p)`, whose reasons are empty where they hold. Raises `ValueError`."""
    text = _reason(policy)
    plain = re.fullmatch(r"(\w+)\(p\)", text)
    return plain.group(1) if plain else f"lambda p: {text}"


def contract_rules(contract: str) -> tuple[str, str, str]:
    """What a path's contract means for floating outputs, for gradients, and for other values."""
    values = rule_text("any_of(close, no_worse)")
    if contract == "bits":
        return "bits", "bits", "equal"
    return (
        rule_text("any_of(close, stepwise)") if contract == "casts" else values,
        values,
        "decided",
    )


def _reason(policy: str) -> str:
    """The reason against a policy, as an expression of `p`."""
    match = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", policy, re.DOTALL)
    kind, given = (match.group(1), _arguments(match.group(2) or "")) if match else ("", [])
    if kind in ("any_of", "all_of") and given:
        parts = [_reason(each) for each in given]
        word = " and " if kind == "any_of" else " or "
        return word.join(
            f"({part})" if " and " in part or " or " in part else part for part in parts
        )
    named = dict(each.split("=", 1) for each in given if "=" in each)
    named = {key.strip(): value for key, value in named.items()}
    plain = [each for each in given if "=" not in each]
    if kind == "metadata" and not given:
        return '""'
    if kind in _OF_LOCKSTEP and len(plain) <= 1 and set(named) <= {"of", "dim"}:
        if (kind == "index_equivalent") != bool(plain or "of" in named):
            [float(each) for each in plain]
        if kind != "index_equivalent" or plain or "of" in named:
            return f"of_lockstep(p, {ascii(policy.strip())})"
    numbers, words = _JUDGED.get(kind, (0, None))
    if (
        words is None
        or len(plain) > numbers
        or not set(named) <= set(words)
        or ("rtol" in named) != ("atol" in named)
        or kind == "ulp"
        and not plain
    ):
        raise ValueError(f"{policy!r:.200} is not a policy")
    values = [_number(each, kind) for each in plain]
    values += [f"{key}={_number(value, kind)}" for key, value in named.items()]
    values += ["strict=True"] if kind == "bits_strict" else []
    return f"{_NAMES.get(kind, kind)}({', '.join(['p', *values])})"


def _number(text: str, kind: str) -> str:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text!r:.200} is not a number of a policy")
    return repr(int(number) if kind == "ulp" else number)


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
