"""How eager and compiled ended: what their errors say before any value is compared."""

import re
from dataclasses import dataclass

from .begin import CannotTell

#: What an expression may consist of so that RE2 and Python read it alike, part by part.
_ALIKE = re.compile(
    r"""
    \\[dDwWsSbBfnrtv.^$*+?()\[\]{}|/\\-]
    | \[(?!\^\]) \^? (?: \\[dDwWfnrtv.^$*+?()\[\]{}|/\\-] | [^\[\]\\] )+ \]
    | \(\?: | \((?!\?) | \) | \| | \. | \^ | \$
    | (?: [*+?] | \{\d+(?:,\d*)?\} ) \?? (?![*+?{])
    | [^\\\[\](){}.^$*+?|]""",
    re.VERBOSE | re.DOTALL,
)
#: What RE2 means by a part, where Python means something else by the same words.
_MEANING = {"$": r"\Z", r"\s": r"[\t\n\f\r ]", r"\S": r"[^\t\n\f\r ]"}


@dataclass
class Verdict:
    """What the judge says, by Lockstep's word for it, or `unknown`; and the lines that say why."""

    status: str
    lines: list[str]


def words_of(error: dict) -> str:
    detail = f" ({error['detail'][:200]})" if error.get("detail") else ""
    return f"{error['class']}: {' '.join(error['message'].split())[:200]}{detail}"


def is_found(pattern: str, text: str) -> bool:
    """Whether the expression of a case is found in a message. Raises `CannotTell` where Python
    might read it in another way than Lockstep."""
    parts, at = [], 0
    while at < len(pattern):
        match = _ALIKE.match(pattern, at)
        if not match:
            raise CannotTell(
                f"Python may read the expression {pattern!r:.200} in another way than Lockstep"
            )
        parts.append(_MEANING.get(match.group(), match.group()))
        at = match.end()
    try:
        return re.search("".join(parts), text, re.ASCII) is not None
    except re.error as error:
        raise CannotTell(f"Python cannot read the expression {pattern!r:.200}: {error}") from None


def raises_difference(rule: dict, error: dict) -> str:
    """Why an error is not the one that the case is about; empty if it is."""
    if rule.get("class") and error["class"] != rule["class"]:
        return f"{words_of(error)}, expected class {rule['class']}"
    if rule.get("match") and not is_found(rule["match"], error["message"]):
        return f"{words_of(error)}, expected text matching {rule['match']!r:.100}"
    return ""


def judge_outcomes(eager: dict | None, compiled: dict | None, rule: dict | None) -> Verdict | None:
    """The verdict on errors (`describe` of errors.py; None: it returned). None where both
    returned."""
    if rule is not None:
        wrong = "eager returns" if eager is None else raises_difference(rule, eager)
        if wrong:
            return Verdict("harness", [f"the case says which error it is about, but {wrong}"])
    if compiled is None:
        if eager is None:
            return None
        status = (
            "extension"
            if eager["class"] == "NotImplementedError" and rule is None
            else "validation_lost"
        )
        return Verdict(status, [f"compiled returns, eager raises {words_of(eager)}"])
    both = (
        f"eager {'returns' if eager is None else 'raises ' + words_of(eager)}, compiled raises "
        f"{words_of(compiled)}"
    )
    difference = raises_difference(rule, compiled) if rule is not None else ""
    if eager is not None and eager["class"] == compiled["class"] and not difference:
        return Verdict("conform", [f"both raise: {both}"])
    if (
        eager is not None
        and eager["class"] == "NotImplementedError"
        and not (rule or {}).get("class")
        and not (rule or {}).get("match")
    ):
        return Verdict("unsupported" if rule is None else "conform", [both])
    if compiled["kind"] == "refused":
        return Verdict("refused", [f"the compiler refuses: {words_of(compiled)}"])
    if compiled["kind"] == "internal":
        return Verdict("internal_error", [f"the compiler failed: {words_of(compiled)}"])
    return Verdict("spurious_error" if eager is None else "error_diverges", [both])
