"""What is wrong with the results of two executions, as Lockstep's judge says it, as far as it can
be known without a gold."""

from dataclasses import dataclass, field
from typing import Any

from .metadata import alias_difference, described, metadata_difference
from .outcomes import Verdict
from .pair import Pair
from .policy import Answer, Policy, check, default_policy, parse_policy
from .view import View, as_view

#: What a call left behind, by name: "input x", then outputs ("y"), then "grad x".
Call = dict[str, Any]
#: Statuses of what does not depend on the noise of values.
METADATA = ("metadata_diverges", "aliasing_diverges")


@dataclass
class AfterError:
    """What a call left behind that raised: which one it was, its inputs and the modes."""

    call: int
    inputs: Call
    modes: dict


@dataclass
class Execution:
    """What a function did: the calls of each repetition, or the error that ended it."""

    runs: list[list[Call]] = field(default_factory=list)
    #: What each of these calls left behind beside its results: `observe_state`.
    states: list[list[dict]] = field(default_factory=list)
    #: Results that read otherwise once all calls were done, a text for each.
    overwritten: list[str] = field(default_factory=list)
    error: dict | None = None
    after_error: "AfterError | None" = None


@dataclass
class Rules:
    """How results are compared: what the case asks for and the path's contract."""

    policies: dict[str, str]
    contract: str
    #: The statuses that accuse the compiler, those first that decide first.
    accusing: list[str]
    strides: str = "significant"
    raises: dict | None = None
    #: Whether the last repetition had other seeds, and whether the path draws numbers of its own.
    reseed: bool = False
    own_random: bool = False

    def is_worse(self, status: str, other: str) -> bool:
        """Whether a status decides before another one: what differs before what a gold decides, and
        that before `conform`."""

        def place(status: str) -> int:
            if status in self.accusing:
                return self.accusing.index(status)
            return len(self.accusing) + (status == "conform")

        return place(status) < place(other)

    def policy_of(self, name: str, eager: Any) -> Policy:
        if name in self.policies:
            return parse_policy(self.policies[name])
        view = as_view(eager)
        return default_policy(self.contract, "bool" if view is None else view.dtype)


def same_bits(a: Any, b: Any) -> bool:
    """Whether two values of one kind are the same; a NaN equals a NaN."""
    x, y = as_view(a), as_view(b)
    if x is None or y is None:
        return a == b
    return not Pair(x, y).differs.any()


def judges_positions(policy: Policy) -> bool:
    if policy.kind in ("metadata", "statistical"):
        return False
    return not policy.children or any(map(judges_positions, policy.children))


def compare_call(
    eager: Call, compiled: Call, before: Call, rules: Rules
) -> list[tuple[str, str, str]]:
    """What is wrong with a call: status, name and text. `before`: the inputs as they were."""
    found = []
    for name in sorted(
        eager, key=lambda name: (name.startswith("grad "), name.startswith("input "))
    ):
        value, policy = eager[name], rules.policy_of(name, eager[name])
        if name in before and _untouched(before[name], value):
            policy = parse_policy("bits")
        seen = []
        if name not in compiled:
            seen.append(("metadata_diverges", f"eager {described(value)}, compiled nothing"))
        else:
            if text := metadata_difference(value, compiled[name], rules.strides):
                seen.append(("metadata_diverges", text))
            if not text or _comparable(value, compiled[name]):
                seen.append(_compare(value, compiled[name], policy, eager, compiled))
        for status, text in seen:
            if status not in ("conform", "unknown") and name.startswith("input "):
                status = "mutation_diverges"
            if status != "conform":
                found.append((status, name, text))
    if text := alias_difference(eager, compiled):
        found.append(("aliasing_diverges", "shared memory", text))
    return found


def _comparable(value: Any, other: Any) -> bool:
    """Whether there are values to compare although metadata differ."""
    if not isinstance(value, View) or not isinstance(other, View):
        return False
    return (value.dtype, value.shape, value.quantizer) == (
        other.dtype,
        other.shape,
        other.quantizer,
    )


def _untouched(before: Any, after: Any) -> bool:
    """Whether eager left an input as it was."""
    if type(before) is not type(after):
        return False
    if isinstance(before, View) and (before.dtype, before.shape) != (after.dtype, after.shape):
        return False
    return same_bits(before, after)


def _compare(
    value: Any, other: Any, policy: Policy, eager: Call, compiled: Call
) -> tuple[str, str]:
    """Status and text for two values without a difference in metadata."""
    if policy.kind == "metadata":
        return "conform", ""
    x, y = as_view(value), as_view(other)
    if x is None or y is None:
        return (
            ("conform", "")
            if value == other
            else ("value_diverges", f"eager {value!r}, compiled {other!r}")
        )

    def tensor_of(side: str, name: str) -> View | None:
        values = eager if side == "eager" else compiled
        found = next(
            (values[full] for full in (name, f"input {name}", f"grad {name}") if full in values),
            None,
        )
        return found if isinstance(found, View) else None

    pair = Pair(x, y)
    answer = check(policy, pair, tensor_of)
    if answer.holds:
        return "conform", ""
    return ("unknown" if answer.holds is None else answer.status), _difference(pair, policy, answer)


def _difference(pair: Pair, policy: Policy, answer: Answer) -> str:
    """What differs between the elements of two tensors."""
    mask = pair.differs if pair.differs.any() and policy.kind != "bits_strict" else pair.payload
    if policy.kind not in ("bits", "bits_strict") and pair.unequal.any():
        mask = pair.unequal
    count = int(mask.sum()) * pair.multiplicity
    text = f"{count} of {pair.eager.elements} elements differ under the policy {policy.text}"
    for index, e, c in pair.places(mask, 4):
        text += f"\n    {index}: eager {e}, compiled {c}"
    if pair.eager.is_float and pair.finite.any():
        text += f"\n    largest difference {float((pair.x - pair.y)[pair.finite].abs().max()):.6g}"
    return text + (f"\n    {answer.why}" if answer.why else "")


def compare_run(
    eager: list[Call], compiled: list[Call], before: list[Call], rules: Rules
) -> Verdict:
    """The verdict on the values of one repetition."""
    lines, worst = [], "conform"
    for at, (mine, other) in enumerate(zip(eager, compiled, strict=True)):
        for status, name, text in compare_call(mine, other, before[at], rules):
            lines.append((f"call {at + 1}: " if len(eager) > 1 else "") + f"{name}: {text}")
            if rules.is_worse(status, worst):
                worst = status
    return Verdict(worst, lines)


def self_disagreement(execution: Execution, rules: Rules) -> str:
    """Names the first value that is not the same in all repetitions; empty if all are."""
    for later in execution.runs[1:-1] if rules.reseed else execution.runs[1:]:
        for first, again in zip(execution.runs[0], later, strict=True):
            if text := alias_difference(first, again):
                return text
            for name, value in first.items():
                if name not in again or metadata_difference(value, again[name], rules.strides):
                    return name
                if judges_positions(rules.policy_of(name, value)) and not same_bits(
                    value, again[name]
                ):
                    return name
    return ""
