"""One fault a call: the backend `lockstep_mutant_in_turn`, for graphs that take too long to be
compiled again for each fault.

The first call has no fault. Beside every operator it computes what mutants would have made of it:
one that knows the operator, and those that may happen to any. Each is a fault at the first, the
middle and the last step of those whose result it changes. Every call after the first one has one of
them, in order. The case is called NAME-BEGIN-CALLS-MOST: with which fault its second call begins,
how many calls it has, which may be made again, and how many faults are taken, drawn evenly."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch._dynamo.backends.registry import register_backend
from torch._ops import OpOverload as Overload
from torch.utils._pytree import tree_leaves

from . import interpret
from .compare import metadata
from .registry import Mutant

NAME = "in-turn"
#: What a fault changes at least, as a share of the greatest number of a result: less is within the
#: tolerances of an operator alone.
LEAST = 0.01


def _first(change: Callable) -> Callable:
    """A fault that changes the first result of an operator, if it has floating numbers."""

    def fault(op: Overload, *args: Any, **kwargs: Any) -> Any:
        found = op(*args, **kwargs)
        first, *more = found if isinstance(found, (list, tuple)) else [found]
        if not isinstance(first, torch.Tensor) or not first.is_floating_point():
            return None
        if not first.numel() or any(each.alias_info for each in op._schema.returns):
            return None
        wrong = first.clone(memory_format=torch.preserve_format)
        change(wrong, torch.arange(first.numel()).reshape(first.shape))
        return wrong if isinstance(found, torch.Tensor) else type(found)([wrong, *more])

    return fault


def _every(wrong: torch.Tensor, places: torch.Tensor) -> None:
    wrong.mul_(torch.where(places % 2 == 0, 1.03, 0.97).to(wrong.dtype))


def _one(wrong: torch.Tensor, places: torch.Tensor) -> None:
    greatest = wrong.nan_to_num(0, 0, 0).abs().max()
    # Not in the middle, where a second row of a batch begins, and a place is often zero.
    wrong[places == wrong.numel() * 5 // 7] += greatest


#: What may happen to any operator, beside the mutants that know it.
_ANY = tuple(
    Mutant(name, "numerics", "op", doc, _first(change))
    for name, doc, change in (
        ("every-element-errs", "Elements are off by 3 %, by turns up and down.", _every),
        ("one-element-errs", "One element is off by as much as the greatest.", _one),
    )
)


@dataclass(frozen=True)
class Fault:
    """A mutant at a step of a graph, counted from 1 on. `of`: which of how many steps."""

    mutant: str
    operator: str
    step: int
    of: tuple[int, int]


#: Operators whose results nobody has given values.
_UNSET = frozenset(
    {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
)


def changes(right: Any, wrong: Any) -> bool:
    """Whether a wrong result, or the first of several, is one that everybody would see."""
    right, wrong = (next(iter(tree_leaves(each)), None) for each in (right, wrong))
    if not isinstance(right, torch.Tensor) or not isinstance(wrong, torch.Tensor):
        return False
    if metadata(right) != metadata(wrong) or not right.numel():
        return False
    if not right.is_floating_point():
        return not torch.equal(right, wrong)
    right, wrong = (each.detach().double() for each in (right, wrong))
    if not torch.equal(right.isfinite(), wrong.isfinite()):
        return True
    scale = right.nan_to_num(0, 0, 0).abs().max()
    return bool((right - wrong).nan_to_num(0, 0, 0).abs().max() > LEAST * scale)


def chosen(steps: dict[tuple[str, str], list[int]], most: int) -> list[Fault]:
    """The faults of a graph, from (operator, mutant) and the steps where it shows; `most` at most,
    drawn evenly."""
    found = []
    operators: set[str] = set()  # that have a mutant which knows them
    for (operator, mutant), places in sorted(steps.items()):
        known = mutant not in (each.name for each in _ANY)
        if known and operator in operators:
            continue
        operators |= {operator} if known else set()
        kept = sorted({places[0], places[len(places) // 2], places[-1]})
        found += [Fault(mutant, operator, step, (at, len(kept))) for at, step in enumerate(kept, 1)]
    return [found[at * len(found) // most] for at in range(most)] if len(found) > most else found


class _Turns:
    """The calls of a graph. Where a fault makes a later operator raise, that is noted, and the call
    is made again without it, so that the others have their turns."""

    def __init__(self) -> None:
        turns = re.search(r"-(\d+)-(\d+)-(\d+)[\[@]", os.environ.get(interpret.INSTANCE, ""))
        self.begin, self.count, self.most = map(int, turns.groups()) if turns else (0, 1, 1)
        self.calls, self.step = 0, 0
        self.mutants: dict[str, Mutant] = {}
        self.steps: dict[tuple[str, str], list[int]] = {}
        self.faults: list[Fault] = []
        self.fault: Fault | None = None

    def call(self, run: Callable, inputs: Sequence) -> Any:
        turn = self.calls % self.count
        self.calls += 1
        at = self.begin + turn - 1
        self.fault = self.faults[at] if turn and at < len(self.faults) else None
        self.step = 0
        try:
            found = run(*inputs)
        except Exception as error:
            if self.fault is None:
                raise
            _write({"raised": at, "error": f"{type(error).__name__}: {error}"[:200]})
            self.fault, self.step = None, 0
            return run(*inputs)
        if self.calls == 1:
            self.faults = chosen(self.steps, self.most)
            _write({"steps": self.step, "faults": [asdict(each) for each in self.faults]})
        return found

    def intercept(self, target: Overload, args: tuple, kwargs: dict, graph: str) -> Any:
        self.step += 1
        right = target(*args, **kwargs)
        if self.calls == 1:
            self.probe(target, args, kwargs, graph, right)
        if self.fault is None or self.fault.step != self.step:
            return right
        mutant = self.mutants[self.fault.mutant]
        wrong = mutant.fault(target, *args, **kwargs)
        return right if wrong is None else wrong

    def probe(self, target: Overload, args: tuple, kwargs: dict, graph: str, right: Any) -> None:
        """Notes the mutants that change a result."""
        if target._schema.is_mutable or torch.Tag.nondeterministic_seeded in target.tags:
            return
        operator = target._schema.name.partition("::")[2]
        if operator in _UNSET:
            return
        for mutant in (*interpret.named(target, graph), *_ANY):
            try:
                wrong = mutant.fault(target, *args, **kwargs)
            except Exception:
                continue  # it does not apply
            if wrong is not None and changes(right, wrong):
                self.mutants[mutant.name] = mutant
                self.steps.setdefault((operator, mutant.name), []).append(self.step)


def _write(record: dict) -> None:
    interpret.write({"instance": os.environ.get(interpret.INSTANCE, ""), **record})


def _in_turn(module: torch.fx.GraphModule, examples: Sequence) -> Callable:
    turns = _Turns()
    run = interpret.compiled(module, examples, turns.intercept, interpret.keep, interpret.keep)
    return lambda *inputs: turns.call(run, inputs)


def register() -> None:
    """Makes the backend known."""
    register_backend(_in_turn, name="lockstep_mutant_" + NAME.replace("-", "_"))
