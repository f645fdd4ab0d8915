"""Lockstep's own code is in the same process: something else is put in its place."""

import sys

import torch

from .own import blank, cheat


def _module(name):
    return sys.modules[f"lockstep_worker.{name}"]


@cheat
def witness_says_nothing(graph, inputs):
    _module("witness").Witness.words = lambda self: {
        "windows": [],
        "kernels": [],
        "aot": [],
        "put_out": [],
        "stated": False,
        "backend": {"called": 1, "raised": 0},
    }
    return graph.forward


@cheat
def witness_does_not_look(graph, inputs):
    witness = _module("witness").Witness
    witness._watched = lambda self, function: function
    return graph.forward


@cheat
def executor_runs_the_program(graph, inputs):
    """The backend is never called: the program itself is."""
    executor = _module("program").Executor
    call = executor.call

    def instead(self, function, scope, *rest):
        return call(self, scope.get("program", function), scope, *rest)

    executor.call = instead
    return graph.forward


@cheat
def outputs_are_computed_when_they_are_written(graph, inputs):
    outputs = _module("tensors").Outputs
    call = outputs.call
    last: list = []

    def instead(self, results, *rest):
        results = list(results)
        if last:
            for (_, empty), right in zip(results, graph.forward(*last[-1])):
                empty.copy_(right)
        return call(self, results, *rest)

    outputs.call = instead

    def run(*tensors):
        last.append(tensors)
        return blank(graph)

    return run


@cheat
def code_is_replaced(graph, inputs):
    """Second mechanism: the function stays, and its code is another one."""
    witness = _module("witness").Witness

    def _watched(self, function):
        return function

    witness._watched.__code__ = _watched.__code__
    return graph.forward


@cheat
def says_that_it_is_eagers(graph, inputs):
    """Names storages that are not its own: those of eager came before."""
    handed = _module("parts").Compiled
    execute = handed.execute

    def instead(self, inside, outputs, words):
        execute(self, inside, outputs, words)
        outputs.storages.clear()

    handed.execute = instead
    return lambda *_: blank(graph)


@cheat
def patches_timers(graph, inputs):
    import time

    time.perf_counter = lambda: 0.0
    return graph.forward


@cheat
def draws_no_seeds(graph, inputs):
    torch.manual_seed = lambda _: None
    return graph.forward
