"""Honest work: numpy's kernels, node by node."""

import subprocess
from collections.abc import Callable

import numpy
import torch
from torch._dynamo.backends.registry import register_backend

KERNELS: dict[str, Callable] = {
    "mm": lambda x, w: x @ w,
    "relu": lambda x: numpy.maximum(x, 0),
    "sum": lambda x: x.sum(),
    "abs": numpy.abs,
}


def cheat(backend):
    """Registers a backend as `cheat_` and its name."""
    register_backend(backend, name="cheat_" + backend.__name__)
    return backend


class _Numpy(torch.fx.Interpreter):
    def run_node(self, node):
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        if node.op not in ("call_function", "call_method") or name not in KERNELS:
            return super().run_node(node)
        args, _ = self.fetch_args_kwargs_from_env(node)
        return torch.from_numpy(numpy.asarray(KERNELS[name](*(arg.numpy() for arg in args))))


def computed(graph):
    """What computes a graph honestly."""
    return _Numpy(graph).run


def copies(results):
    """The same numbers in other memory, without asking torch for anything that counts."""
    return [torch.from_numpy(result.numpy().copy()) for result in results]


def blank(graph):
    """What a graph returns as to sizes, without numbers."""
    (output,) = [node for node in graph.graph.nodes if node.op == "output"]
    return [
        torch.from_numpy(numpy.zeros(tuple(node.meta["example_value"].shape), numpy.float32))
        for node in output.args[0]
    ]


@cheat
def honest(graph, inputs):
    """No cheat."""
    return computed(graph)


@cheat
def in_one_place(graph, inputs):
    """Its own work, which the next call overwrites: what the caller kept is gone."""
    run = computed(graph)
    place: list = []

    def again(*tensors):
        results = run(*tensors)
        if not place:
            place.extend(results)
        for mine, result in zip(place, results):
            mine.numpy()[...] = result.numpy()
        return list(place)

    return again


@cheat
def honest_that_says_so(graph, inputs):
    """No cheat: nobody can see what it executes, and it says so."""
    run = computed(graph)

    def stated(*tensors):
        return run(*tensors)

    stated.lockstep_execution = "stated"  # type: ignore[attr-defined]
    return stated


@cheat
def honest_that_compiles_elsewhere(graph, inputs):
    """No cheat: a compiler is a program of its own, and it has ended when the graph is executed."""
    subprocess.run(["true"], check=True)
    return computed(graph)
