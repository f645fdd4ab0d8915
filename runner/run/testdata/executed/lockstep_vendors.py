"""Backends for `torch.compile` that let others compute, each in its own way, and some that do not.
Importing this module registers `lockstep_vendor_<kind>`."""

import threading

import numpy
import torch
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.registry import register_backend
from torch._inductor.compile_fx import compile_fx

#: What these vendors have kernels for.
KERNELS = {
    "mm": lambda x, w: x @ w,
    "relu": lambda x: numpy.maximum(x, 0),
    "sum": lambda x: x.sum(),
    "abs": numpy.abs,
    "neg": numpy.negative,
}


class OwnKernels(torch.fx.Interpreter):
    """Computes with numpy what `kernels` names, and leaves the rest to torch."""

    def __init__(self, graph, kernels):
        super().__init__(graph)
        self.kernels = kernels

    def run_node(self, node):
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        if node.op not in ("call_function", "call_method") or name not in self.kernels:
            return super().run_node(node)
        args, _ = self.fetch_args_kwargs_from_env(node)
        return torch.from_numpy(numpy.asarray(self.kernels[name](*(arg.numpy() for arg in args))))


def computing(kernels, graph):
    return OwnKernels(graph, kernels).run


def kind(backend):
    register_backend(backend, name="lockstep_vendor_" + backend.__name__)
    return backend


@kind
def honest(graph, inputs):
    return computing(KERNELS, graph)


@kind
def forward(graph, inputs):
    return graph.forward


@kind
def partly(graph, inputs):
    return computing({name: KERNELS[name] for name in ("mm", "abs", "neg")}, graph)


@kind
def after_an_exception(graph, inputs):
    def run(*tensors):
        try:
            raise NotImplementedError("no kernel")
        except NotImplementedError:
            return graph.forward(*tensors)

    return run


@kind
def on_a_thread(graph, inputs):
    def run(*tensors):
        results = []
        thread = threading.Thread(target=lambda: results.append(graph.forward(*tensors)))
        thread.start()
        thread.join()
        return results[0]

    return run


@kind
def while_it_profiles(graph, inputs):
    def run(*tensors):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
            return graph.forward(*tensors)

    return run


@kind
def inductor(graph, inputs):
    return compile_fx(graph, inputs)


@kind
def by_value(graph, inputs):
    """Eager once for each value of the inputs."""
    known = {}

    def run(*tensors):
        key = tuple(tensor.numpy().tobytes() for tensor in tensors)
        if key not in known:
            known[key] = graph.forward(*tensors)
        return [tensor.clone() for tensor in known[key]]

    return run


@kind
def by_shape(graph, inputs):
    """Its own work, but once for all values."""
    compute = computing(KERNELS, graph)
    known: list = []

    def run(*tensors):
        if not known:
            known.extend(compute(*tensors))
        return [torch.from_numpy(tensor.numpy().copy()) for tensor in known]

    return run


@kind
def in_one_place(graph, inputs):
    """Its own work, each time in the same memory."""
    compute = computing(KERNELS, graph)
    place: list = []

    def run(*tensors):
        results = compute(*tensors)
        if not place:
            place.extend(results)
        for mine, result in zip(place, results):
            mine.numpy()[...] = result.numpy()
        return list(place)

    return run


@kind
def elsewhere(graph, inputs):
    """As one that has another process compute."""
    compute = computing(KERNELS, graph)

    def run(*tensors):
        return compute(*tensors)

    run.lockstep_execution = "stated"  # type: ignore[attr-defined]
    return run


@kind
def refuses(graph, inputs):
    raise NotImplementedError("this vendor compiles nothing")


@kind
def through_aot(graph, inputs):
    """AOT autograd, and torch's operators for both of its graphs."""
    return aot_autograd(fw_compiler=lambda graph, _: graph.forward)(graph, inputs)


@kind
def accepts(graph, inputs):
    """What eager refuses, it takes for the nearest."""

    def run(x, indices):
        return [torch.from_numpy(numpy.take(x.numpy(), indices.numpy(), mode="clip"))]

    return run
