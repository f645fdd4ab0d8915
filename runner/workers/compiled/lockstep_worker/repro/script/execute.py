"""Runs the program of the case, eagerly or compiled, and takes down what it leaves behind."""

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from ...errors import describe
from .begin import CannotTell
from .judge import Call, Execution, Rules
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
        return Rules(settings["POLICIES"], settings["PROMISE"], settings["STRIDES"], settings["RAISES"])


def given_to(case: Case, call: int) -> dict[str, Any]:
    """Fresh inputs of a call, in the order of the program."""
    try:
        given = {**case.prepared(), **case.inputs(call)}
        case.program.__globals__.update(case.literals())
    except Exception as error:
        raise CannotTell(f"torch {torch.__version__} cannot make the inputs: {type(error).__name__}: {error}") from error
    return {name: given[name] for name in case.settings["INPUTS"]}


def prepare(program: Callable, literals: Callable, contexts: Callable, outputs: list[str], seed: int, device: str,
            requires_grad: list[str]) -> dict[str, torch.Tensor]:
    """What another program makes on the CPU, as inputs on a device."""
    torch.manual_seed(seed)
    program.__globals__.update(literals())
    with contextlib.ExitStack() as stack:
        for manager in contexts():
            stack.enter_context(manager)
        made = dict(zip(outputs, program(), strict=True))
    made = {name: tensor.detach().to(device) for name, tensor in made.items()}
    return {name: tensor.requires_grad_() if name in requires_grad else tensor for name, tensor in made.items()}


def before_calls(case: Case) -> list[Call]:
    """The inputs of each call as they are before it."""
    found = []
    for call in range(case.settings["CALLS"]):
        snapshot = Snapshot()
        found.append({f"input {name}": snapshot.value(name, value) for name, value in given_to(case, call).items()})
    return found


def execute(case: Case, function: Callable, reference: dict | None = None) -> Execution:
    """All repetitions and calls of a function. Whatever the program raises becomes the error, by
    whose words compiled is told from eager: `reference`, the error of eager."""
    execution = Execution()
    for _ in range(case.settings["REPEAT"]):
        execution.runs.append([])
        for call in range(case.settings["CALLS"]):
            given = given_to(case, call)
            torch.manual_seed(case.settings["SEED"])
            try:
                outputs = one_call(case, function, given)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # SystemExit, too: no program may end the process
                execution.error = describe(error, "run", reference)
                return execution
            execution.runs[-1].append(left_behind(case, given, outputs))
    return execution


def one_call(case: Case, function: Callable, given: dict[str, Any]) -> dict[str, Any]:
    """The outputs of one call, after its backward."""
    with contextlib.ExitStack() as stack:
        for manager in case.contexts():
            stack.enter_context(manager)
        # What the program closes over are globals of its.
        constants = case.settings["CONSTANTS"]
        case.program.__globals__.update({constants[name]: value for name, value in given.items() if name in constants})
        arguments = [value for name, value in given.items() if name not in constants]
        outputs = dict(zip(case.settings["OUTPUTS"], function(*arguments), strict=True))
    if (backward := case.settings["BACKWARD"]) is not None:
        with contextlib.ExitStack() as stack:
            for manager in case.contexts_of_backward():
                stack.enter_context(manager)
            of, seeds = [outputs[name] for name in backward["of"]], backward.get("with", "ones")
            torch.autograd.backward(of, [torch.ones_like(t) for t in of] if seeds == "ones" else [given[n] for n in seeds])
    return outputs


def left_behind(case: Case, given: dict[str, Any], outputs: dict[str, Any]) -> Call:
    """What the judge compares of a call, as it is at this moment. Raises `CannotTell`."""
    snapshot = Snapshot()
    call = {f"input {name}": snapshot.value(f"input {name}", value) for name, value in given.items()}
    call.update({name: snapshot.value(name, value) for name, value in outputs.items()})
    if case.settings["BACKWARD"] is not None:
        call.update({f"grad {name}": snapshot.value(f"grad {name}", value.grad) for name, value in given.items()
                     if isinstance(value, torch.Tensor) and value.requires_grad})
    return call
