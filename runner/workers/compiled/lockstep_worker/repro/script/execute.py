"""Runs the program of the case, eagerly or compiled, and takes down what it leaves behind."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ...errors import describe
from ...state import observe_state
from .begin import CannotTell
from .judge import AfterError, Call, Execution, Rules, same_bits
from .view import Snapshot


@dataclass
class Case:
    """What the script is about: the settings at its head, and its functions."""

    settings: dict[str, Any]
    program: Callable
    inputs: Callable[[int], dict[str, Any]]
    literals: Callable[[], dict[str, torch.Tensor]]
    prepared: Callable[[], dict[str, torch.Tensor]]
    contexts: Callable[[], list]
    contexts_of_backward: Callable[[], list]

    @property
    def backend(self) -> str:
        return os.environ.get("TORCH_COMPILE_BACKEND") or self.settings["BACKEND"]

    @property
    def rules(self) -> Rules:
        settings = self.settings
        own_random = settings["CONFIG"].get("torch._inductor.config.fallback_random") is False
        return Rules(
            settings["POLICIES"],
            settings["CONTRACT"],
            settings["ACCUSING"],
            settings["STRIDES"],
            settings["RAISES"],
            settings["RESEED"],
            own_random,
        )


def given_to(case: Case, call: int) -> dict[str, Any]:
    """Fresh inputs of a call, in the order of the program."""
    try:
        given = {**case.prepared(), **case.inputs(call)}
        case.program.__globals__.update(case.literals())
    except Exception as error:
        raise CannotTell(
            f"torch {torch.__version__} cannot make the inputs: {type(error).__name__}: {error}"
        ) from error
    return {name: given[name] for name in case.settings["INPUTS"]}


def prepare(
    program: Callable,
    literals: Callable,
    contexts: Callable,
    outputs: list[str],
    seed: int,
    device: str,
    requires_grad: list[str],
) -> dict[str, torch.Tensor]:
    """What another program makes on the CPU, as inputs on a device."""
    torch.manual_seed(seed)
    program.__globals__.update(literals())
    with contextlib.ExitStack() as stack:
        for manager in contexts():
            stack.enter_context(manager)
        made = dict(zip(outputs, program(), strict=True))
    made = {name: tensor.detach().to(device) for name, tensor in made.items()}
    return {
        name: tensor.requires_grad_() if name in requires_grad else tensor
        for name, tensor in made.items()
    }


def before_calls(case: Case) -> list[Call]:
    """The inputs of each call as they are before it."""
    found = []
    for call in range(case.settings["CALLS"]):
        snapshot = Snapshot()
        found.append(
            {
                f"input {name}": snapshot.value(name, value)
                for name, value in given_to(case, call).items()
            }
        )
    return found


def execute(case: Case, function: Callable, reference: dict | None = None) -> Execution:
    """All repetitions and calls of a function. Whatever the program raises becomes the error, by
    whose words compiled is told from eager: `reference`, the error of eager."""
    execution, settings, results = Execution(), case.settings, []
    for repetition in range(settings["REPEAT"]):
        execution.runs.append([])
        execution.states.append([])
        other = settings["RESEED"] and 0 < repetition == settings["REPEAT"] - 1
        for call in range(settings["CALLS"]):
            given = given_to(case, call)
            torch.manual_seed(settings["SEED"] + call + (settings["CALLS"] if other else 0))
            try:
                outputs = one_call(case, function, given)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # SystemExit, too: no program may end the process
                execution.error = describe(error, getattr(function, "stage", "run"), reference)
                snapshot = Snapshot()
                inputs = {
                    f"input {name}": snapshot.value(f"input {name}", value)
                    for name, value in given.items()
                }
                execution.after_error = AfterError(
                    call, inputs, observe_state(settings["DEVICE"])["modes"]
                )
                return execution
            execution.states[-1].append(observe_state(settings["DEVICE"]))
            execution.runs[-1].append(taken_down(case, given, outputs))
            place = f"call {call + 1} of repetition {repetition + 1}"
            results += [
                (name, place, value, execution.runs[-1][-1][name])
                for name, value in outputs.items()
            ]
    for name, place, value, before in results:
        if isinstance(value, torch.Tensor) and not same_bits(before, Snapshot().value(name, value)):
            execution.overwritten.append(f"{name} of {place} changed while later calls ran")
    return execution


def one_call(case: Case, function: Callable, given: dict[str, Any]) -> dict[str, Any]:
    """The outputs of one call, after its backward."""
    with contextlib.ExitStack() as stack:
        for manager in case.contexts():
            stack.enter_context(manager)
        # What the program closes over are globals of its.
        constants = case.settings["CONSTANTS"]
        case.program.__globals__.update(
            {constants[name]: value for name, value in given.items() if name in constants}
        )
        arguments = [value for name, value in given.items() if name not in constants]
        outputs = dict(zip(case.settings["OUTPUTS"], function(*arguments), strict=True))
    if (backward := case.settings["BACKWARD"]) is not None:
        with contextlib.ExitStack() as stack:
            for manager in case.contexts_of_backward():
                stack.enter_context(manager)
            of, seeds = [outputs[name] for name in backward["of"]], backward.get("with", "ones")
            for retain in [
                bool(backward.get("retain_graph")),
                *([False] if backward.get("twice") else []),
            ]:
                with_ = (
                    [torch.ones_like(t) for t in of]
                    if seeds == "ones"
                    else [given[n] for n in seeds]
                )
                torch.autograd.backward(of, with_, retain_graph=retain)
    return outputs


def taken_down(case: Case, given: dict[str, Any], outputs: dict[str, Any]) -> Call:
    """What the judge compares of a call, as it is at this moment. Raises `CannotTell`."""
    snapshot = Snapshot()
    call = {
        f"input {name}": snapshot.value(f"input {name}", value) for name, value in given.items()
    }
    call.update({name: snapshot.value(name, value) for name, value in outputs.items()})
    if case.settings["BACKWARD"] is not None:
        call.update(
            {
                f"grad {name}": snapshot.value(f"grad {name}", value.grad)
                for name, value in given.items()
                if isinstance(value, torch.Tensor) and value.requires_grad
            }
        )
    return call
