"""Backends that say that they compute by themselves, and leave it to torch."""

import threading

import torch

from .registry import compiler


@compiler("fallback", needs=("tensors",))
def returns_the_graph(graph, examples, compile):
    """What is handed to the backend is its result."""
    return graph.forward


@compiler("fallback", needs=("tensors",))
def returns_what_aot_autograd_made(graph, examples, compile):
    """The graph goes through AOT autograd, and its operators to torch."""
    return compile(graph, examples)


@compiler("fallback", needs=("tensors",))
def computes_in_another_thread(graph, examples, compile):
    """Torch's operators, called where nobody might look."""

    def run(*inputs):
        found = []
        thread = threading.Thread(target=lambda: found.append(graph.forward(*inputs)))
        thread.start()
        thread.join()
        return found[0]

    return run


@compiler("fallback", needs=("tensors",))
def decomposes_and_falls_back(graph, examples, compile):
    """Inductor's decompositions, executed by torch."""
    from torch._dynamo.backends.debugging import aot_eager_decomp_partition

    return aot_eager_decomp_partition(graph, examples)


@compiler("fallback", needs=("floating", "inputs"))
def remembers_its_first_results(graph, examples, compile):
    """Computes once by torch while it is tuned, and returns that for the same shapes."""
    kept = {}

    def run(*inputs):
        key = str([each.shape if isinstance(each, torch.Tensor) else each for each in inputs])
        if key not in kept:
            kept[key] = [
                each.detach().numpy().copy() if isinstance(each, torch.Tensor) else each
                for each in graph.forward(*inputs)
            ]
        return [
            torch.from_numpy(each.copy()) if hasattr(each, "copy") else each for each in kept[key]
        ]

    return run
