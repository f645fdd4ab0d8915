"""The program of a request, decoded, and what executes it call by call, before a witness."""

import contextlib
import functools
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import torch

from . import contexts, errors, names
from .compat import accelerator
from .compat.carry import as_input, copied
from .problems import Fault, Malformed, Unsupported, need
from .source import Source, generate
from .state import Listener, Memory, Surroundings, Versions, observe_state
from .tensors import Files, Inputs, Outputs, is_view, literal_text, sizes_of
from .threads import done_by, new_thread
from .wire import Stages
from .witness import Witness


class Program:
    """What a request says, decoded: the source, the inputs of each call, the backward."""

    def __init__(
        self, request: dict, source: Any = None, call: Callable[[dict, str], str] | None = None
    ) -> None:
        """`source` has the bytes of the storages; without one they are read from the files that the
        request names. `call` writes calls of public functions (source.py)."""
        program, storages = need(request, "program", "run"), request.get("storages", [])
        self.inputs = Inputs(
            sizes_of(storages), source or Files(storages), request.get("device", "cpu")
        )
        self.calls = need(request, "calls", "run")
        self.repeat = int(request.get("repeat", 1))
        self.seed = int(request.get("seed", 0))
        self.reseed = bool(request.get("reseed", False))
        self.device = str(request.get("device", "cpu"))
        self.context = program.get("context") or {}
        list(contexts.lines(self.context))
        #: What a call hands to the next: an input, and the output or input that it is then.
        self.carry: dict = program.get("carry") or {}
        if not isinstance(self.calls, list) or not self.calls:
            raise Malformed("run.calls: a list with at least one call is expected")
        kinds = {
            name: "tensor"
            if all(is_view(self._given(call, name)) for call in self.calls)
            else "number"
            for name in need(program, "inputs", "program")
        }
        self.names = list(program["inputs"])
        literal = functools.partial(literal_text, inputs=self.inputs)
        self.source: Source = generate(program, literal, kinds, call)
        for each in self.calls:
            list(contexts.lines(self.context_of(each)))
        self._check_carry()
        self.backward = program.get("backward")
        if self.backward is not None:
            self._check_backward()

    def _given(self, call: dict, name: str) -> Any:
        return need(
            need(call, "inputs", "calls"), names.checked(name, "program.inputs"), "calls.inputs"
        )

    def context_of(self, call: dict) -> dict:
        """The context of a call, within the program's."""
        own = call.get("context") or {}
        if not isinstance(own, dict):
            raise Malformed("calls.context: an object is expected")
        return {**self.context, **own}

    def _check_carry(self) -> None:
        known = {*self.names, *self.source.outputs}
        if not isinstance(self.carry, dict) or any(
            name not in self.names or name in self.source.constants or source not in known
            for name, source in self.carry.items()
        ):
            raise Malformed(
                "program.carry: names of inputs, each with the name of an output or an input"
            )

    def _check_backward(self) -> None:
        of, seeds = need(self.backward, "of", "backward"), self.backward.get("with", "ones")
        if not isinstance(of, list) or any(name not in self.source.outputs for name in of):
            raise Malformed("backward.of: names of outputs are expected")
        if seeds != "ones" and (
            not isinstance(seeds, list)
            or len(seeds) != len(of)
            or any(name not in self.names for name in seeds)
        ):
            raise Malformed(
                'backward.with: "ones" or one name of an input for each of `of` is expected'
            )

    def seed_of(self, repetition: int, call: int) -> int:
        """What the generators are seeded with before a call: of each call another number, and with
        `reseed` of the last repetition others."""
        others = self.reseed and 0 < repetition == self.repeat - 1
        return self.seed + call + (len(self.calls) if others else 0)

    def arguments(self, call: dict) -> tuple[list, dict]:
        """Fresh values of the inputs of one call, and of the captured literals. What shares a
        storage shares one copy of it."""
        copies = self.inputs.fresh()
        values = [copies.value(self._given(call, name), f"input {name}") for name in self.names]
        captured = {
            name: copies.tensor(view, f"literal {name}")
            for name, view in self.source.captured.items()
        }
        return values, captured


class Rehearsal(Exception):
    """A program does not get through a call on decoys: `error`, as the observation of one that has
    no eager, and what it would be by what eager raises."""

    def __init__(self, error: dict, otherwise: list) -> None:
        super().__init__(f"{error['class']}: {error['message']}")
        self.error, self.otherwise = error, otherwise


def raised_result(error: dict, otherwise: list, runs: list[dict]) -> dict:
    """The result of a program that raised, by what `errors.descriptions` gives; `runs`: what was
    there before."""
    return {
        "outcome": "raised",
        "runs": runs,
        "error": error,
        "otherwise": otherwise,
        "reason": None,
    }


#: What a device raises from the first assertion on that failed there: nothing that lies on it can
#: be read any more.
_DEVICE_LOST: type[Exception] = getattr(torch, "AcceleratorError", Unsupported)


class Around(Protocol):
    """Who does something before and after each call that is observed, and says whether something
    was compiled for it."""

    def before(self, repetition: int, call: int) -> None: ...

    def after(self, repetition: int, call: int) -> bool: ...


class Executor:
    """Runs one callable through all repetitions and calls of a program, before a witness."""

    def __init__(self, program: Program, outputs: Outputs, stage: Stages, witness: Witness) -> None:
        self.program, self.outputs, self.stage, self.witness = program, outputs, stage, witness
        #: Inputs of the call under way; outputs and inputs of one whose backward is under way.
        self.given: list | None = None
        #: What a call, by its number, gets from the one before it.
        self.carried: dict[int, dict] = {}
        self.unfinished: tuple[list, list] | None = None
        #: The thread of a rehearsed call, which is going to make it.
        self._thread: ThreadPoolExecutor | None = None
        #: The inputs of the last call whose version it changed.
        self.counted: list[str] = []
        #: Whether results have to be tensors as torch has them: another class could compute them
        #: when it is asked for its bytes.
        self.wants_plain = False

    def observe(self, function: Callable, scope: dict, around: "Around | None" = None) -> dict:
        """The observation of `function`, without its process-wide parts; of an error also what it
        would be by what eager raises (`otherwise`). `around` is told of every call. Raises
        `Malformed` and `Unsupported`; whatever the program raises becomes the observation."""
        with Listener() as listener:
            return self._observed(function, scope, around, listener)

    def _observed(
        self, function: Callable, scope: dict, around: "Around | None", listener: Listener
    ) -> dict:
        program, at = self.program, 0
        runs: list[dict] = []
        self.outputs.keep(program.repeat * len(program.calls) > 1)
        surroundings, memory = Surroundings(), Memory()
        try:
            for repetition in range(program.repeat):
                runs.append({"calls": []})
                for at, call in enumerate(program.calls):
                    if around is not None:
                        around.before(repetition, at)
                    self.witness.repetition = repetition
                    listener.heard()
                    left = self.call(function, scope, call, program.seed_of(repetition, at))
                    heard = listener.heard()
                    compiled = around is not None and around.after(repetition, at)
                    # First of all: what somebody still writes to is not what was returned.
                    described = self.outputs.call(*left)
                    if not compiled:
                        described["warnings"] = heard
                    state = observe_state(program.device, surroundings)
                    state["versions"] = self.counted
                    memory.note(state, [*left[1], *left[0]], self._closed_over(scope))
                    runs[-1]["calls"].append({**described, "state": state})
                    del left
        except (Fault, Malformed, Unsupported, Rehearsal):
            raise
        except BrokenPipeError:
            raise  # the runner is gone
        except BaseException as error:  # SystemExit, too: no program may end the process
            raised, otherwise = errors.descriptions(error, self.stage.last)
            self.stage.last = raised["stage"]
            if self.unfinished is not None:
                with contextlib.suppress(Unsupported, _DEVICE_LOST):
                    runs[-1]["calls"].append(self.outputs.call(*self.unfinished, []))
            after = {}
            if self.given is not None:
                with contextlib.suppress(Unsupported, _DEVICE_LOST):
                    inputs = self.outputs.call([], self.given, [])["inputs"]
                    state = observe_state(program.device, surroundings)
                    after = {"after_error": {"call": at, "inputs": inputs, "state": state}}
            if after and len(runs) == 1 and self._goes_on():
                after["after_error"]["calls"] = self._behind(function, scope, at, around)
            self.stage.last = raised["stage"]
            self.outputs.read_again(runs)
            return {**raised_result(raised, otherwise, runs), **after}
        self.outputs.read_again(runs)
        self._let_go(scope)
        memory.settle()
        return {"outcome": "returned", "runs": runs, "error": None, "reason": None}

    def _closed_over(self, scope: dict) -> list[torch.Tensor]:
        """What the program knows without being given it."""
        names = self.program.source.closed_over
        return [scope[name] for name in names if isinstance(scope.get(name), torch.Tensor)]

    def _let_go(self, scope: dict) -> None:
        """Lets go of what the last call was given."""
        self.carried.clear()
        for name in self.program.source.closed_over:
            scope.pop(name, None)

    def _goes_on(self) -> bool:
        """Whether calls are made behind one that raised: an assertion on a device leaves none that
        could be, and without what a call hands on the next one is another."""
        return self.program.device == "cpu" and not self.program.carry

    def _behind(
        self, function: Callable, scope: dict, raised: int, around: "Around | None"
    ) -> list[dict]:
        """The calls behind one that raised, up to another that does."""
        program = self.program
        described: list[dict] = []
        try:
            for at in range(raised + 1, len(program.calls)):
                if around is not None:
                    around.before(0, at)
                left = self.call(function, scope, program.calls[at], program.seed_of(0, at))
                if around is not None:
                    around.after(0, at)
                described.append(self.outputs.call(*left))
        except (BrokenPipeError, Fault, Malformed):
            raise
        except BaseException:  # the first error is what counts
            pass
        return described

    def call(
        self,
        function: Callable,
        scope: dict,
        call: dict,
        seed: int | None = None,
        rehearses: bool = False,
    ) -> tuple[list, list, list]:
        """Outputs, inputs and gradients of one call by name, on fresh inputs; the generators are
        seeded with `seed`, without one with that of the first call. `rehearses`: the same call
        comes next, by the same thread."""
        program, self.given, self.unfinished = self.program, None, None
        values, captured = program.arguments(call)
        number = next(at for at, each in enumerate(program.calls) if each is call)
        carried = copied(self.carried.get(number, {})) if number else {}
        named = [
            (name, as_input(carried[name], _requires_grad(value)) if name in carried else value)
            for name, value in zip(program.names, values)
        ]
        context = program.context_of(call)
        constants = program.source.constants
        scope.update(
            captured, **{constants[name]: value for name, value in named if name in constants}
        )
        self.given = named
        versions = Versions(named)
        _seed_generators(program.device, program.seed if seed is None else seed)
        make = functools.partial(self._make, function, scope, context, named)
        by_name = self._by_thread(make, rehearses) if context.get(contexts.THREAD) else make()
        grads: list = []
        if program.backward is not None:
            grads = [
                (name, value.grad)
                for name, value in named
                if isinstance(value, torch.Tensor) and value.requires_grad
            ]
        self.given, self.counted = None, versions.counted()
        left = {**dict(named), **by_name}
        self.carried[number + 1] = copied(
            {name: left[source] for name, source in program.carry.items()}
        )
        return list(by_name.items()), named, grads

    def _by_thread(self, make: Callable[[], dict], keeps: bool) -> dict:
        """What `make` returns in another thread, which ends, unless it `keeps` it."""
        with contextlib.ExitStack() as stack:
            thread = stack.enter_context(self._thread or new_thread())
            self._thread = None
            made = done_by(thread, make)
            if keeps:
                self._thread = thread
                stack.pop_all()
        return made

    def _make(self, function: Callable, scope: dict, context: dict, named: list) -> dict:
        """Makes a call, with its backward, in the thread that this is: its outputs by name."""
        program, constants = self.program, self.program.source.constants
        arguments = [value for name, value in named if name not in constants]
        with contexts.enter(context):
            with self.witness.call():
                results = function(*arguments)
                self._settle()
            if self.wants_plain:
                _check_plain(results)
            if program.source.beside:
                results = scope["beside"](*arguments, *results)
                self._settle()
        by_name = dict(zip(program.source.outputs, results))
        if program.backward is not None:
            self.unfinished = list(by_name.items()), named
            with contexts.enter(context, only=contexts.BACKWARD):
                self._backward(by_name, dict(named), bool(program.backward.get("retain_graph")))
                if program.backward.get("twice"):
                    self._backward(by_name, dict(named), False)
            self.unfinished = None
        return by_name

    def _backward(self, results: dict, inputs: dict, retain_graph: bool) -> None:
        backward = self.program.backward
        of = [results[name] for name in backward["of"]]
        seeds = backward.get("with", "ones")
        with_ = (
            [torch.ones_like(t) for t in of]
            if seeds == "ones"
            else [inputs[name] for name in seeds]
        )
        with self.witness.backward():
            torch.autograd.backward(of, with_, retain_graph=retain_graph)
            self._settle()

    def _settle(self) -> None:
        """Waits for the device: what fails there is an error of the program, not of whoever reads
        the result."""
        accelerator.synchronize(torch.device(self.program.device))


def _seed_generators(device: str, seed: int) -> None:
    """Seeds those of the CPU and of `device`. For the CPU alone nobody is asked for accelerators:
    `torch.manual_seed` keeps a traceback for each kind that is not in use yet, which takes 2 ms."""
    if device == "cpu":
        torch.default_generator.manual_seed(seed)
    else:
        torch.manual_seed(seed)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _check_plain(results: Iterable) -> None:
    """Raises `TypeError` for a result of a class of tensors that is not torch's."""
    for place, value in enumerate(results, start=1):
        for each in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(each, torch.Tensor) and type(each) not in (
                torch.Tensor,
                torch.nn.Parameter,
            ):
                raise TypeError(f"result {place} is a {type(each).__name__}, and no torch.Tensor")
