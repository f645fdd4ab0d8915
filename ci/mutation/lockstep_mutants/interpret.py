"""How a mutant runs: torch.compile hands the backend a graph, AOT autograd makes aten's operators
of it, forward and backward, and an interpreter executes them, all faultless but for what the mutant
replaces.

The backend `lockstep_mutant_faultless` replaces nothing. It is the twin on which an instance must
conform before a mutant can be killed there, and a probe: beside every operator it computes what
each mutant would have made of it. What was reached and what differed goes, one JSON object a line,
to the file that the variable `LOCKSTEP_MUTANTS_RECORDS` names."""

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.registry import register_backend
from torch._ops import OpOverload as Overload
from torch.utils._pytree import tree_leaves, tree_map, tree_map_only

from .compare import difference, metadata, sharing
from .registry import MUTANTS, Mutant, of_operator

FAULTLESS = "faultless"
RECORDS = "LOCKSTEP_MUTANTS_RECORDS"
#: The variable in which a worker's child says what it executes (docs/design/protocol.md).
INSTANCE = "LOCKSTEP_INSTANCE"
_RANDOM = torch.Tag.nondeterministic_seeded


class Records:
    """What an execution has seen: mutant → greatest difference (0: reached only), facts of the
    instance, and mutant → error of a fault that could not be computed, and so did not apply."""

    def __init__(self) -> None:
        self.mutants: dict[str, float] = {}
        self.facts: set[str] = set()
        self.breaks: dict[str, str] = {}
        self._written: tuple = ()

    def saw(self, mutant: Mutant, differs: float) -> None:
        """A mutant was reached, and made this difference."""
        self.mutants[mutant.name] = max(self.mutants.get(mutant.name, 0.0), differs)

    def write(self) -> None:
        """Adds a line, if there is anything new."""
        new = dict(self.mutants), set(self.facts), dict(self.breaks)
        if new != self._written:
            self._written = new
            write(
                {
                    "instance": os.environ.get(INSTANCE, ""),
                    "mutants": self.mutants,
                    "facts": sorted(self.facts),
                    "breaks": self.breaks,
                }
            )


def write(record: dict) -> None:
    """Adds a line to the file that `RECORDS` names, if it names one. A line is one write, so that
    those of several processes do not mix."""
    if not (file := os.environ.get(RECORDS)):
        return
    at = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    os.write(at, (json.dumps(record) + "\n").encode())
    os.close(at)


RECORDED = Records()


def origin(value: object) -> tuple[str, tuple]:
    """The operator of the same graph that made a tensor, and its arguments: for faults of chains of
    operators."""
    return getattr(value, "_lockstep_origin", ("", ()))


class _Interpreter(torch.fx.Interpreter):
    """Executes a graph and asks `intercept` for every operator."""

    def __init__(self, module: torch.fx.GraphModule, graph: str, intercept: Callable) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.name, self.intercept = graph, intercept

    def call_function(self, target: Any, args: tuple, kwargs: dict) -> Any:
        if (
            getattr(target, "__name__", "") == "with_effects"
        ):  # operators that only check, in order: token, operator, arguments
            found = self.intercept(args[1], args[2:], kwargs, self.name)
            return (args[0], *found) if isinstance(found, tuple) else (args[0], found)
        if not isinstance(target, Overload):
            return super().call_function(target, args, kwargs)
        found = self.intercept(target, args, kwargs, self.name)
        if isinstance(found, torch.Tensor):
            found._lockstep_origin = (target._schema.name.partition("::")[2], args)
        return found


def named(target: Overload, graph: str) -> list[Mutant]:
    """The mutants of an operator of a graph."""
    space, _, name = target._schema.name.partition("::")
    return (
        list(of_operator(name, target._overloadname, torch.Tag.pointwise in target.tags, graph))
        if space == "aten"
        else []
    )


def _copies(target: Overload, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Arguments of a second execution: copies where the operator writes to one."""
    if not target._schema.is_mutable:
        return args, kwargs
    return tree_map_only(torch.Tensor, _copy, (args, kwargs))


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """The same values and strides on another storage."""
    if tensor.layout != torch.strided:
        return tensor.clone()
    storage = tensor.detach().untyped_storage().clone()
    return torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(
        storage, tensor.storage_offset(), tensor.shape, tensor.stride()
    )


def _try(mutant: Mutant, *args: Any, **kwargs: Any) -> Any:
    """What a fault makes; None where it does not apply. An error is a fault of its own only where
    errors are its class."""
    try:
        return mutant.fault(*args, **kwargs)
    except Exception as error:
        if mutant.cls == "errors" or mutant.kind != "op":
            raise
        RECORDED.breaks[mutant.name] = f"{type(error).__name__}: {error}"[:200]
        return None


class _Outcome:
    """What a function returned, or the error that it raised."""

    def __init__(self, function: Callable, *args: Any, **kwargs: Any) -> None:
        self.value: Any = None
        self.error: Exception | None = None
        try:
            self.value = function(*args, **kwargs)
        except Exception as error:
            self.error = error

    @property
    def applies(self) -> bool:
        """Of a fault: whether it has one."""
        return self.error is not None or self.value is not None

    def get(self) -> Any:
        """The value; raises the error."""
        if self.error is not None:
            raise self.error
        return self.value

    def differs(self, other: "_Outcome") -> float:
        """By how much, with the class of an error as a value and its message as metadata."""
        if self.error is None and other.error is None:
            return difference(self.value, other.value)
        return (
            0.0
            if type(self.error) is type(other.error) and str(self.error) == str(other.error)
            else 1.0
        )


def _beside(
    mutant: Mutant, target: Overload, args: tuple, kwargs: dict, before: Any
) -> tuple[_Outcome, Any]:
    """What a fault makes, with the generator as it was `before` (None: the operator draws nothing),
    and the generator that it leaves."""
    if before is not None:
        torch.set_rng_state(before)
    wrong = _Outcome(_try, mutant, target, *args, **kwargs)
    return wrong, torch.get_rng_state() if before is not None else None


def _generator(target: Overload) -> Any:
    """The generator, where an operator draws from it."""
    return torch.get_rng_state() if _RANDOM in target.tags else None


def _probe(target: Overload, args: tuple, kwargs: dict, graph: str) -> Any:
    """The operator as it is; beside it, what each mutant would make of it."""
    mutants, before = named(target, graph), _generator(target)
    if before is not None:
        RECORDED.facts.add("random")
    given = _copies(target, args, kwargs)
    right = _Outcome(target, *args, **kwargs)
    after = _generator(target)
    for mutant in mutants:
        theirs = _copies(target, *given)
        wrong, left = _beside(mutant, target, *theirs, before)
        RECORDED.saw(mutant, _differs(right, (args, kwargs), after, wrong, theirs, left))
    if after is not None:
        torch.set_rng_state(after)
    return right.get()


def _mutated(mutant: Mutant) -> Callable:
    """Every operator as it is but for those of a mutant."""

    def intercept(target: Overload, args: tuple, kwargs: dict, graph: str) -> Any:
        if mutant not in named(target, graph):
            return target(*args, **kwargs)
        copies, before = _copies(target, args, kwargs), _generator(target)
        right = _Outcome(target, *copies[0], **copies[1])
        after = _generator(target)
        wrong, left = _beside(mutant, target, args, kwargs, before)
        RECORDED.saw(mutant, _differs(right, copies, after, wrong, (args, kwargs), left))
        if not wrong.applies:
            if after is not None:
                torch.set_rng_state(after)
            return target(*args, **kwargs) if target._schema.is_mutable else right.get()
        return wrong.get()

    return intercept


def _differs(
    right: _Outcome, args: tuple, after: Any, wrong: _Outcome, theirs: tuple, left: Any
) -> float:
    """By how much results, arguments that are written to, and the generator differ."""
    if not wrong.applies:
        return 0.0
    if after is not None and not torch.equal(after, left):
        return 1.0
    written = [
        [each for each in tree_leaves(part) if isinstance(each, torch.Tensor)]
        for part in (args, theirs)
    ]
    return max(wrong.differs(right), difference(*written))


def _applied(mutant: Mutant, outputs: list, *more: Any) -> list:
    """`outputs` with the fault of a `result` or of `gradients`; says what it made of them."""
    wrong = mutant.fault(list(outputs), *more)
    if wrong is None:
        RECORDED.saw(mutant, 0.0)
        return outputs
    inputs = list(more[0]) if more else []
    shared = sharing([*outputs, *inputs]) != sharing([*wrong, *inputs])
    # The very object of an input is something else than a view of all of it.
    same = [[each is one for one in inputs] for each in outputs] != [
        [each is one for one in inputs] for each in wrong
    ]
    RECORDED.saw(mutant, 1.0 if shared or same else difference(outputs, wrong))
    return list(wrong)


def compiled(
    module: torch.fx.GraphModule,
    examples: Sequence,
    intercept: Callable,
    after: Callable,
    gradients: Callable,
) -> Callable:
    """A graph of Dynamo's through AOT autograd as `aot_eager` does it: every operator by
    `intercept`, results through `after`, gradients through `gradients`."""
    from functorch.compile import make_boxed_func, min_cut_rematerialization_partition

    def forward(graph: torch.fx.GraphModule, _: Sequence) -> Callable:
        return make_boxed_func(lambda *args: _Interpreter(graph, "forward", intercept).run(*args))

    def backward(graph: torch.fx.GraphModule, _: Sequence) -> Callable:
        def run(*args: Any) -> Any:
            RECORDED.facts.add("backward")
            try:
                return gradients(list(_Interpreter(graph, "backward", intercept).run(*args)))
            finally:
                RECORDED.write()

        return make_boxed_func(run)

    aot = aot_autograd(
        fw_compiler=forward,
        bw_compiler=backward,
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )(module, examples)

    def run(*inputs: Any) -> Any:
        try:
            return after(list(aot(*inputs)), list(inputs))
        finally:
            RECORDED.write()

    return run


def keep(outputs: list, *_: Any) -> list:
    """Results as they are."""
    return outputs


def _faultless(module: torch.fx.GraphModule, examples: Sequence) -> Callable:
    return compiled(
        module, examples, lambda target, args, kwargs, _: target(*args, **kwargs), keep, keep
    )


# The probe ----------------------------------------------------------------------------------------

_COMPILATIONS = _CALLS = 0


def _probed(module: torch.fx.GraphModule, examples: Sequence) -> Callable:
    global _COMPILATIONS
    _COMPILATIONS += 1
    if _COMPILATIONS > 1:
        RECORDED.facts.add("recompiles")

    def after(outputs: list, inputs: list) -> list:
        _facts(outputs, inputs)
        for mutant in MUTANTS.values():
            if mutant.kind == "result":
                _applied(mutant, outputs, inputs)
        return outputs

    def gradients(found: list) -> list:
        for mutant in MUTANTS.values():
            if mutant.kind == "gradients":
                _applied(mutant, found)
        return found

    run = compiled(module, examples, _probe, after, gradients)

    def watched(*inputs: Any) -> Any:
        global _CALLS
        _CALLS += 1
        if _CALLS > 2:
            RECORDED.facts.add("often")
        tensors = [each for each in inputs if isinstance(each, torch.Tensor)]
        versions = [each._version if not each.is_inference() else 0 for each in tensors]
        try:
            return run(*inputs)
        except Exception:
            RECORDED.facts.add("raises")
            raise
        finally:
            if versions != [each._version if not each.is_inference() else 0 for each in tensors]:
                RECORDED.facts.add("mutates")
            RECORDED.write()

    return watched


def _facts(outputs: list, inputs: list) -> None:
    tensors, given = (
        [each for each in values if isinstance(each, torch.Tensor)] for values in (outputs, inputs)
    )
    facts = {
        "tensors": bool(tensors),
        "several": len(tensors) > 1,
        "numbers": len(tensors) < len(outputs),
        "grad": any(each.requires_grad for each in tensors),
        "floating": any(each.is_floating_point() for each in tensors),
        "inputs": any(
            isinstance(each, torch.Tensor) and each.is_floating_point() for each in inputs
        ),
        "aliases": bool(sharing([*tensors, *inputs])),
        "empty": any(each.numel() == 0 for each in given),
        "scalars": any(each.dim() == 0 for each in given),
        "strided": any(not each.is_contiguous() for each in given if each.layout == torch.strided),
        "nan": any(
            not each.isfinite().all()
            for each in given
            if each.is_floating_point() and each.itemsize > 1
        ),
        "subnormals": any(
            bool(((each != 0) & (each.abs() < torch.finfo(each.dtype).tiny)).any())
            for each in given
            if each.dtype in (torch.float32, torch.float64)
        ),
    }
    RECORDED.facts.update(name for name, holds in facts.items() if holds)


# Backends -----------------------------------------------------------------------------------------


def _called(mutant: Mutant, run: Callable) -> Callable:
    """`run` with the fault of a `call` around it; what it changed of outputs, inputs and who shares
    memory is recorded."""

    def called(*inputs: Any) -> Any:
        seen: list = []

        def faultless(*given: Any) -> list:
            outputs = list(run(*given))
            seen[:] = [
                [
                    (_copy(each.detach()), metadata(each))
                    if isinstance(each, torch.Tensor)
                    else each
                    for each in [*outputs, *inputs]
                ],
                sharing([*outputs, *inputs]),
            ]
            return outputs

        RECORDED.saw(mutant, 0.0)
        RECORDED.write()  # now: a crash leaves no time
        outputs = mutant.fault(faultless, list(inputs))
        now = [
            [
                (each.detach(), metadata(each)) if isinstance(each, torch.Tensor) else each
                for each in [*outputs, *inputs]
            ],
            sharing([*outputs, *inputs]),
        ]
        plain = [tree_map(lambda each: each, part) for part in (seen[0], now[0])] if seen else None
        RECORDED.saw(mutant, 1.0 if plain is None or seen[1] != now[1] else difference(*plain))
        RECORDED.write()
        return outputs

    return called


def _backend(mutant: Mutant) -> Callable:
    def backend(module: torch.fx.GraphModule, examples: Sequence, **_: Any) -> Callable:
        if mutant.kind == "op":
            return compiled(module, examples, _mutated(mutant), keep, keep)
        if mutant.kind == "result":
            return compiled(
                module,
                examples,
                lambda target, args, kwargs, _: target(*args, **kwargs),
                lambda outputs, inputs: _applied(mutant, outputs, inputs),
                keep,
            )
        if mutant.kind == "gradients":
            return compiled(
                module,
                examples,
                lambda target, args, kwargs, _: target(*args, **kwargs),
                keep,
                lambda found: _applied(mutant, found),
            )
        if mutant.kind == "call":
            return _called(mutant, _faultless(module, examples))
        RECORDED.saw(mutant, 1.0)
        RECORDED.write()
        return mutant.fault(module, examples, _faultless)

    return backend


def register() -> None:
    """Makes backends of all: `lockstep_mutant_faultless` and one for each mutant."""
    register_backend(_probed, name="lockstep_mutant_" + FAULTLESS)
    for mutant in MUTANTS.values():
        register_backend(_backend(mutant), name=mutant.backend)
