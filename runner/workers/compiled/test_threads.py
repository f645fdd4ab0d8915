"""Calls that another thread makes: what holds there, and what it leaves."""

import threading
import types
from typing import Any

import pytest
import torch
import torch._inductor.config

from lockstep_worker import contexts
from lockstep_worker.problems import Malformed
from lockstep_worker.program import Executor
from lockstep_worker.source import generate
from lockstep_worker.threads import by_another_thread
from lockstep_worker.witness import Witness


def test_what_is_set_here_holds_there():
    """torch keeps its configuration for each context of Python's; OpenMP its threads for each."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with torch._inductor.config.patch(fallback_random=True), torch.no_grad():
            found = by_another_thread(
                lambda: (
                    torch._inductor.config.fallback_random,
                    torch.is_grad_enabled(),
                    torch.get_num_threads(),
                    threading.get_ident() == threading.main_thread().ident,
                )
            )
    finally:
        torch.set_num_threads(before)
    assert found == (True, True, 2, False)


def test_what_is_raised_there_is_raised_here():
    error, threads = SystemExit(3), []

    def leave():
        threads.append(threading.current_thread())
        raise error

    with pytest.raises(SystemExit) as raised:
        by_another_thread(leave)
    assert raised.value is error and not threads[0].is_alive()


def executor(file):
    """Of a program of one input that it returns."""
    program: Any = types.SimpleNamespace(
        names=["x"],
        device="cpu",
        source=types.SimpleNamespace(constants={}, outputs=["y"], beside=""),
        backward=None,
        carry={},
        calls=[{"context": {"thread": True}}],
        arguments=lambda call: ([torch.ones(1)], {}),
        context_of=lambda call: call["context"],
        seed=0,
    )
    nothing: Any = None
    return Executor(program, nothing, nothing, Witness(file))


def test_the_thread_that_rehearses_a_call_makes_it():
    """As that of a user compiles what it executes; the next call has another one."""
    made, alive = executor(0), []

    def function(x):
        alive.append(threading.current_thread())
        return (x,)

    for rehearses in (True, False, False):
        made.call(function, {}, made.program.calls[0], rehearses=rehearses)
    assert alive[0] is alive[1] is not alive[2]
    with pytest.raises(ZeroDivisionError):
        made.call(lambda x: 1 // len(function(x)[1:]), {}, made.program.calls[0], rehearses=True)
    assert not any(thread.is_alive() for thread in alive)


def test_steps_run_in_the_thread_of_their_call():
    steps = [{"with": {"thread": True}, "steps": []}]
    with pytest.raises(Malformed, match="thread of their call"):
        generate({"inputs": [], "steps": steps, "outputs": []}, lambda view: "", {})
    assert not [*contexts.lines({"thread": True})]
    with pytest.raises(Malformed, match="thread"):
        [*contexts.lines({"thread": False})]
