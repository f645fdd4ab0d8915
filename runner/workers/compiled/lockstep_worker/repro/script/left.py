"""The verdict on two executions, and on what calls leave behind beside their results: modes,
generators, earlier results."""

from .judge import (
    METADATA,
    Call,
    Execution,
    Rules,
    compare_call,
    compare_run,
    judges_positions,
    self_disagreement,
)
from .outcomes import Verdict, judge_outcomes


def left_behind(eager: Execution, compiled: Execution, rules: Rules) -> list[str]:
    """What differs, each fact once, where it is found first."""
    found: dict[str, str] = {}
    own = rules.own_random or any(
        not judges_positions(rules.policy_of(name, value))
        for call in eager.runs[0]
        for name, value in call.items()
        if not name.startswith(("input ", "grad "))
    )
    for r, (mine, other) in enumerate(zip(eager.states, compiled.states)):
        for c, (a, b) in enumerate(zip(mine, other)):
            after = (
                f"after repetition {r + 1}"
                if len(mine) == 1
                else f"after call {c + 1} of repetition {r + 1}"
            )
            for name in _other_facts(a["modes"], b["modes"]):
                found.setdefault(
                    f"mode {name}", f"{a['modes'][name]}, compiled {b['modes'][name]}, {after}"
                )
            for name in [] if own else _other_facts(a["generators"], b["generators"]):
                found.setdefault(f"generator {name}", f"not the state that eager leaves, {after}")
    for text in compiled.overwritten:
        if text not in eager.overwritten:
            found.setdefault("overwritten", text)
    return [f"{what}: {text}" for what, text in found.items()]


def left_after_error(
    eager: Execution, compiled: Execution, before: list[Call], rules: Rules
) -> Verdict | None:
    """What is wrong with what two executions left behind that both raised; None if nothing is."""
    mine, other = eager.after_error, compiled.after_error
    if mine is None or other is None or (eager.error or {}).get("class") == "NotImplementedError":
        return None
    if mine.call != other.call:
        return Verdict(
            "error_diverges",
            [f"eager raises in call {mine.call + 1}, compiled in call {other.call + 1}"],
        )
    found = compare_call(mine.inputs, other.inputs, before[mine.call], rules)
    if found:
        return Verdict(
            "mutation_diverges", [f"{name} after the error: {text}" for _, name, text in found]
        )
    modes = [
        f"mode {name}: {mine.modes[name]}, compiled {other.modes[name]}, after the error"
        for name in _other_facts(mine.modes, other.modes)
    ]
    return Verdict("state_diverges", modes) if modes else None


def _other_facts(mine: dict, other: dict) -> list[str]:
    """Names what both sides say, and not the same."""
    return [name for name in mine if name in other and mine[name] != other[name]]


def judge(
    eager: Execution, compiled: Execution, before: list[Call], rules: Rules, was_compiled: bool
) -> Verdict:
    """The verdict: outcomes, metadata, masks, values, what calls left behind, proof of compilation,
    noise, in this order. `before`: the inputs of each call as they were before it."""
    outcome = judge_outcomes(eager.error, compiled.error, rules.raises)
    if outcome is not None:
        left = (
            left_after_error(eager, compiled, before, rules)
            if outcome.status == "conform" and eager.error
            else None
        )
        return outcome if left is None else Verdict(left.status, [*left.lines, *outcome.lines])
    verdict = compare_run(eager.runs[0], compiled.runs[0], before, rules)
    noise = self_disagreement(eager, rules)
    if verdict.status not in METADATA and not noise and self_disagreement(compiled, rules):
        # What goes wrong from a later execution on is wrong: the worst one counts.
        for at, later in enumerate(
            compiled.runs[1:-1] if rules.reseed else compiled.runs[1:], start=2
        ):
            other = compare_run(eager.runs[0], later, before, rules)
            if rules.is_worse(other.status, verdict.status):
                verdict = Verdict(
                    other.status, [f"repetition {at}: {line}" for line in other.lines]
                )
    if verdict.status == "conform" and rules.reseed and not noise:
        other = compare_run(eager.runs[-1], compiled.runs[-1], before, rules)
        verdict = Verdict(other.status, [f"with another seed {line}" for line in other.lines])
    if verdict.status in ("conform", "unknown") and (
        left_lines := left_behind(eager, compiled, rules)
    ):
        verdict = Verdict("state_diverges", [*left_lines, *verdict.lines])
    if verdict.status in ("conform", "unknown") and not was_compiled:
        return Verdict("not_compiled", ["there is no proof that the compiler saw the program"])
    # Metadata do not depend on the noise of values.
    if noise and verdict.status not in METADATA:
        return Verdict("inconclusive", [f"eager disagrees with itself: {noise}", *verdict.lines])
    return verdict
