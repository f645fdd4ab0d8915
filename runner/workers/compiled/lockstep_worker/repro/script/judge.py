"""What is wrong with two executions, as Lockstep's judge says it."""

import contextlib
import functools
import re
from typing import Any, NamedTuple

from .policies import Pair, bits, greatest
from .values import CannotTell, Value, alias_difference, metadata_difference

#: What can be found of results, from the worst on.
ORDER = "metadata aliasing nonfinite value mutation state".split()


class Found(NamedTuple):
    """Something that is wrong, with the greatest |Δ| and ulp; `name` is the class of an error."""

    status: str
    name: str
    text: str
    distance: float = 0.0
    ulp: int = 0


def same_bits(a: Any, b: Any) -> bool:
    """Whether two values of one kind are the same; a NaN equals a NaN."""
    return not bits(Pair(a, b)) if isinstance(a, Value) else a == b


def compare(
    case: Any, name: str, eager: Any, compiled: Any, before: Any, golds: Any
) -> list[Found]:
    """What is wrong with a value. `before`: an input as it was; `golds`: those of this value."""
    text = metadata_difference(eager, compiled, case.strides)
    found = [Found("metadata_diverges", name, text)] if text else []
    if not isinstance(eager, Value) or not isinstance(compiled, Value):
        if not text and eager != compiled:
            found.append(Found("value_diverges", name, f"eager {eager!r}, compiled {compiled!r}"))
    elif (eager.numbers.dtype, eager.shape) == (compiled.numbers.dtype, compiled.shape):
        pair = Pair(eager, compiled, golds)
        own = case.gradients if name.startswith("grad ") else case.floats
        rule = case.rules.get(name, own if pair.floating else case.others)
        if isinstance(before, Value) and not metadata_difference(before, eager, "exact"):
            rule = bits if same_bits(before, eager) else rule  # eager left it alone
        if text := rule(pair):
            status = "nonfinite_diverges" if pair.special.any() else "value_diverges"
            distance, ulp = greatest(pair.x - pair.y, pair.finite), int(pair.ulps().max())
            text = "\n".join([text, *pair.worst(4), f"    greatest |Δ| {distance:.3g}, {ulp} ulp"])
            found.append(Found(status, name, text, distance, ulp))
    inside = name.startswith("input ")
    return [each._replace(status="mutation_diverges") if inside else each for each in found]


def compare_runs(case: Any, eager: Any, compiled: Any, before: list) -> list[Found]:
    """What is wrong with the results of all repetitions, the worst first."""
    found: dict[tuple, Found] = {}
    for at, run in enumerate(compiled.runs):
        other = at if case.reseed and at == case.repeat - 1 else 0
        for call, (mine, its) in enumerate(zip(eager.runs[other], run)):
            new = []
            for name, value in mine.items():
                golds = functools.partial(case.golds or list, case, other, call, name)
                new += compare(case, name, value, its.get(name), before[call].get(name), golds)
            if text := alias_difference(mine, its):
                new.append(Found("aliasing_diverges", "aliases", text))
            for each in new:
                found.setdefault(each[:2], each)
    return sorted(found.values(), key=lambda each: ORDER.index(each.status.partition("_")[0]))


def unstable(case: Any, eager: Any) -> str:
    """The first value that eager does not repeat; empty if there is none."""
    for run in eager.runs[1 : len(eager.runs) - case.reseed]:
        for first, again in zip(eager.runs[0], run):
            for name, value in first.items():
                same = not metadata_difference(value, again[name], case.strides)
                if name not in case.free and not (same and same_bits(value, again[name])):
                    return name
    return ""


def left(eager: Any, compiled: Any) -> list[Found]:
    """Modes and generators that calls leave otherwise than eager does, and overwritten results."""
    found = [text for text in compiled.overwritten if text not in eager.overwritten]
    for call, (mine, its) in enumerate(zip(eager.states, compiled.states), start=1):
        for what, fact in mine.items():
            if its.get(what, fact) != fact:
                found.append(f"{what}: eager {fact}, compiled {its[what]}, after call {call}")
    return [Found("state_diverges", "", text) for text in found[:1]]


def one_raises(rule: None, eager: dict | None, compiled: dict | None) -> list[Found]:
    """What is wrong where a side raised, in short; nothing if both raise the same."""
    if compiled and compiled["kind"] == "refused":
        raise CannotTell(f"the compiler refuses: {compiled}")
    alike = eager and compiled and eager["class"] == compiled["class"]
    said = f"eager raises {eager}, compiled raises {compiled}"
    return [] if alike else [Found("error_diverges", "", said)]


def is_it(rule: dict, error: dict) -> bool:
    """Whether an error is the one that the case is about."""
    alike = r"(?:\\[dDwWbB.^$*+?()\[\]{}|/\\-]|\(\?:|\((?!\?)|\[(?!\^?\])[^\[\]\\]+\]|[^\\(\[])*"
    pattern = rule.get("match") or ""
    if rule.get("class") not in ("", None, error["class"]):
        return False
    if re.fullmatch(alike, pattern) and not re.search(r"[*+?}][*+]|\{,", pattern):
        with contextlib.suppress(re.error):
            ends = re.sub(r"(?<!\\)\$", r"\\Z", pattern)
            return re.search(ends, error["message"], re.ASCII) is not None
    raise CannotTell(f"Python may read {pattern!r:.200} in another way than Lockstep")


def judge_errors(rule: dict | None, eager: dict | None, compiled: dict | None) -> list[Found]:
    """What is wrong where a side raised; nothing if both raise the same, or neither does."""
    said = f"eager {'raises ' + str(eager) if eager else 'returns'}, compiled "
    said += f"raises {compiled}" if compiled else "returns"
    lacks = eager is not None and eager["class"] == "NotImplementedError"
    if rule is not None and not (eager and is_it(rule, eager)):
        raise CannotTell(f"the case is about another error: {said}")
    if not compiled:
        if lacks and rule is None:
            raise CannotTell(f"compiled can do more: {said}")
        return [Found("validation_lost", "", said)] if eager else []
    if eager and eager["class"] == compiled["class"] and (rule is None or is_it(rule, compiled)):
        return []
    if lacks and not any((rule or {}).values()):
        if rule is None:
            raise CannotTell(f"neither can do it: {said}")
        return []
    if compiled["kind"] == "refused":
        raise CannotTell(f"the compiler refuses: {said}")
    internal = compiled["kind"] == "internal"
    status = "internal_error" if internal else "error_diverges" if eager else "spurious_error"
    return [Found(status, compiled["class"], said)]


def another(recorded: dict, found: Found) -> str:
    """Whether a mismatch is the recorded one: by kind, output and magnitude."""
    if (recorded["status"], recorded["name"]) != found[:2]:
        return f"another divergence: recorded was {recorded['status']} {recorded['name']}"
    for what, mine in (("|Δ|", found.distance), ("ulp", found.ulp)):
        if (other := recorded.get(what)) and mine:
            if other / 10 <= mine <= other * 10:
                return f"the recorded divergence: {what} {mine:.3g}, recorded {other:.3g}"
            more = "greater" if mine > other else "smaller"
            return f"another divergence, {more}: {what} {mine:.3g}, recorded {other:.3g}"
    return "the recorded divergence"


def verdict(case: Any, eager: Any, compiled: Any, before: list) -> list[Found]:
    """What is wrong with two executions, the worst first. Raises `CannotTell`."""
    if eager.error or compiled.error or case.raises is not None:
        found = case.errors(case.raises, eager.error, compiled.error)
        if found or [*map(len, eager.runs)] != [*map(len, compiled.runs)]:
            return found or [Found("error_diverges", "", "it is not the same call that raises")]
    found = compare_runs(case, eager, compiled, before)
    if not found or not found[0].status.startswith(("metadata", "aliasing")):
        if noise := unstable(case, eager):
            raise CannotTell(f"eager disagrees with itself: {noise}")
    found += case.left(eager, compiled) if case.left else []
    if not found and not eager.error and not case.proof():
        return [Found("not_compiled", "", "there is no proof that the compiler saw the program")]
    return found
