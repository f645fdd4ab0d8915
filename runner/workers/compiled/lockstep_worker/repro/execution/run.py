"""Executes the two sides of a case and its golds. `../write.py` makes the case: `program`,
`inputs(call)`, `call(function, given)`, `compiled()`, `rules`, and the rest."""

import contextlib
import functools
import os
import pkgutil
import sys
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import torch
import torch._dynamo.utils
import torch._inductor

from ...compat.carry import as_input, copied
from ...state import observe_state
from ..script.judge import Found, another, same_bits, verdict
from ..script.values import CannotTell, Lost, Value, value_of
from .golds import Steps


def inputs_of(case: Any, call: int) -> dict[str, Any]:
    """Fresh inputs of a call."""
    try:
        return case.inputs(call)
    except Exception as error:
        raise CannotTell(f"torch {torch.__version__} cannot make the inputs: {error!r}") from error


def prepared(
    program: Any, literals: dict, managers: list, outputs: list, seed: int, device: str, grads: list
) -> dict[str, torch.Tensor]:
    """What another program makes on the CPU, as inputs on a device."""
    torch.manual_seed(seed)
    program.__globals__.update(literals)
    with contextlib.ExitStack() as stack:
        for manager in managers:
            stack.enter_context(manager)
        made = dict(zip(outputs, program(), strict=True))
    made = {name: tensor.detach().to(device) for name, tensor in made.items()}
    return {name: tensor.requires_grad_(name in grads) for name, tensor in made.items()}


def execute(
    case: Any, function: Any, repetitions: Any, steps: Any = None, eager: Any = None
) -> Any:
    """All calls of some repetitions; those of a gold under `steps`. What the program raises becomes
    `error`; by the words of eager's, compiled is told from it."""
    done = SimpleNamespace(runs=[], states=[], overwritten=[], error=None)
    results: list[tuple] = []
    for repetition in repetitions:
        done.runs.append([])
        carried: dict[str, Any] = {}
        for call in range(case.calls):
            given, outputs = inputs_of(case, call), {}
            for name, value in copied(carried).items():
                given[name] = as_input(value, getattr(given[name], "requires_grad", False))
            given = steps.inputs(given) if steps else given
            other = case.reseed and repetition == case.repeat - 1
            torch.manual_seed(case.seed + call + case.calls * other)
            try:
                with steps or contextlib.nullcontext():
                    run = case.call[call] if isinstance(case.call, list) else case.call
                    # Not of a gold, whose `steps` are in force in this thread alone.
                    by = None if steps else case.by.get(call)
                    make = functools.partial(run, function, given)
                    outputs = by(make) if by else make()
            except (KeyboardInterrupt, Lost):
                raise
            except BaseException as error:  # SystemExit, too: no program may end the process
                stage = getattr(function, "stage", "run")
                done.error = case.describe(error, stage, eager and eager.error)
            left = {f"input {name}": value for name, value in given.items()} | outputs
            if case.backward and not done.error:
                tracked = {n: t for n, t in given.items() if getattr(t, "requires_grad", False)}
                left |= {f"grad {name}": tensor.grad for name, tensor in tracked.items()}
            done.states.append(case.observe() if case.observe else {})
            done.runs[-1].append({name: value_of(name, value) for name, value in left.items()})
            if done.error:
                return done
            after = given | outputs
            carried = copied({name: after[source] for name, source in case.carry.items()})
            results += [(call, n, t, done.runs[-1][-1][n]) for n, t in outputs.items()]
    for call, name, value, before in results:
        if not same_bits(value_of(name, value), before):
            done.overwritten.append(f"{name} of call {call + 1} changed while later calls ran")
    return done


class Case:
    """What is executed, and how it is compared."""

    def __init__(self, **facts: Any) -> None:
        vars(self).update(facts)


@functools.cache
def samples(case: Any, repetition: int, kind: str) -> Any:
    """The executions of a gold: one, or eight with noise; or why there is none, as `Lost`."""
    notes: list = []
    before, found = torch.get_default_dtype(), []
    try:
        execute(case, case.program, [repetition], Steps("", notes))
        for sample in range(8 if kind.endswith("noise") else 1):
            made = execute(case, case.program, [repetition], Steps(kind, notes, sample))
            if made.error:
                raise Lost(f"{made.error['class']}: {made.error['message']:.200}")
            found.append(made.runs[0])
        return found
    except (Lost, CannotTell) as why:
        return Lost(str(why))
    finally:
        torch.set_default_dtype(before)


def golds(case: Any, repetition: int, call: int, name: str, kind: str) -> list[Value]:
    """A value of a call in each execution of a gold. Raises `Lost`."""
    if isinstance(made := samples(case, repetition, kind), Lost):
        raise made
    values = [run[call].get(name) for run in made]
    if not all(isinstance(value, Value) for value in values):
        raise Lost(f"it has no {name}")
    return values


def facts(device: str, generators: bool) -> dict[str, Any]:
    """Modes and, if they are compared, the states of generators, as they are now."""
    state = observe_state(device)
    seen = {f"mode {name}": fact for name, fact in state["modes"].items()}
    drawn = {f"generator {name}": fact for name, fact in state["generators"].items()}
    return seen | drawn if generators else seen


def was_compiled() -> bool:
    """Whether Dynamo counts a graph, or a program read to its end that had nothing to compile."""
    utils = torch._dynamo.utils
    stats, frames = utils.counters["stats"], utils.counters["frames"]
    limits = ("Dynamo recompile limit", "recompile_limit", "accumulated_recompile_limit")
    if any(str(key).startswith(limits) for key in utils.counters["unimplemented"]):
        return False
    read = any(getattr(each, "fail_type", None) is None for each in utils.get_compilation_metrics())
    skipped = frames["total"] - frames["ok"] or utils.counters["graph_break"]
    return stats["unique_graphs"] > 0 or read and not skipped and not stats["calls_captured"]


def compile_program(program: Callable, backend: str, own: dict, **options: Any) -> Callable:
    """The program as torch.compile compiles it; `own` options are those of this backend."""
    utils = torch._dynamo.utils
    named_so = os.environ.get("TORCH_COMPILE_BACKEND") or backend
    if named_so not in torch._dynamo.list_backends(exclude_tags=()):
        raise CannotTell(f"torch {torch.__version__} has no backend {named_so}")
    torch._dynamo.reset()
    utils.counters.clear()
    utils.clear_compilation_metrics()
    options |= own if named_so == backend else {}
    return torch.compile(program, backend=named_so, **options)


class Exported:
    """The program as torch.export exports it with its example, or as the package that AOTInductor
    makes of that. `stage` is what it is at."""

    def __init__(self, case: Any, example: int, vary: list, packaged: bool) -> None:
        self.case, self.example, self.packaged = case, example, packaged
        auto = torch.export.Dim.AUTO
        shapes = [auto if v is True else dict.fromkeys(v or (), auto) or None for v in vary]
        self.shapes = {"args": tuple(shapes)} if any(shapes) else None
        self.stage, self.run = "run", cast(Any, None)

    def __call__(self, *args: Any) -> Any:
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.packaged):
            if self.run is None:
                self.run = self.made()
                self.stage = "run"
            return self.run(*args)

    def made(self) -> Any:
        case = self.case

        class Program(torch.nn.Module):
            def forward(self, *args: Any) -> Any:
                return case.program(*args)

        def given(call: int) -> tuple:
            return tuple(inputs_of(case, call)[name] for name in case.names)

        self.stage = "trace"
        exported = torch.export.export(
            Program(), given(self.example), strict=False, dynamic_shapes=self.shapes
        )
        run = exported.module()
        if not self.packaged:
            return run
        for call in range(case.calls if case.calls > 1 else 0):
            run(*given(call))  # a package does not look at what it is given
        self.stage = "compile"
        package = torch._inductor.aoti_compile_and_package(exported)
        return torch._inductor.aoti_load_package(package)


def named(error: BaseException, stage: str, reference: dict | None = None) -> dict:
    """An error in short: its class and message, and whether it says that something is not
    supported."""
    kind = "internal"
    link: BaseException | None = error
    while link is not None:
        if isinstance(link, NotImplementedError) or type(link).__name__ in (
            "Unsupported",
            "UserError",
            "FailOnRecompileLimitHit",
        ):
            kind = "refused"
        link = getattr(link, "inner_exception", None) or link.__cause__
    return {"class": type(error).__name__, "message": str(error), "kind": kind}


def judge(case: Any) -> list[Found]:
    """What is wrong, the worst first. Raises `CannotTell`."""
    before = [
        {
            f"input {name}": value_of(name, value)
            for name, value in inputs_of(case, call).items()
            if not call or name not in case.carry
        }
        for call in range(case.calls)
    ]
    eager = execute(case, case.program, range(case.repeat))
    compiled = execute(case, case.compiled(), range(case.repeat), None, eager)
    return verdict(case, eager, compiled, before)


def configure(needs: list[str], settings: dict[str, Any]) -> None:
    """Looks up what the case needs of torch, and puts the path's settings in force."""
    for name in needs:
        functools.reduce(getattr, name.split(".")[1:], torch)
    for name, value in settings.items():
        module, _, last = name.rpartition(".")
        if not hasattr(owner := pkgutil.resolve_name(module), last):
            raise AttributeError(f"there is no {name}")
        setattr(owner, last, value)


def agree(case: Any) -> bool:
    """Whether the two sides agree; prints what differs. Raises `CannotTell`."""
    found = judge(case)
    for each in found:
        print(f"{each.name or each.status}: {each.text}")
    if found and case.recorded:
        print(another(case.recorded, found[0]))
    if not found:
        print("eager and compiled agree")
    return not found


def main(configure: Callable, case: Any) -> int:
    """The exit status: 0 they agree, 1 they do not, 125 it cannot be told."""
    print(f"torch {torch.__version__}, {case.about}")
    try:
        configure()
    except Exception as error:
        print(f"cannot run: {type(error).__name__}: {error}", file=sys.stderr)
        return 125
    try:
        return 0 if agree(case) else 1
    except CannotTell as why:
        print(f"cannot tell: {why}", file=sys.stderr)
    except Exception as error:  # of this script: nothing that the compiler can be blamed for
        traceback.print_exc()
        print(f"cannot tell: the script itself failed: {error!r}", file=sys.stderr)
    return 125
