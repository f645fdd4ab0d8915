"""Torch computes, and whoever looks is to see nothing."""

import contextlib

import torch

from .own import cheat


@cheat
def puts_the_profiler_out(graph, inputs):
    def run(*tensors):
        torch.autograd._enable_record_function(False)
        return graph.forward(*tensors)

    return run


@cheat
def puts_the_profiler_out_and_on_again(graph, inputs):
    """Second mechanism."""

    def run(*tensors):
        torch.autograd._enable_record_function(False)
        try:
            return graph.forward(*tensors)
        finally:
            torch.autograd._enable_record_function(True)

    return run


@cheat
def stops_the_observer(graph, inputs):
    other = torch.profiler.ExecutionTraceObserver()

    def run(*tensors):
        with contextlib.suppress(Exception):
            other.register_callback("/dev/null")
            other.start()
            other.stop()
        return graph.forward(*tensors)

    return run


@cheat
def replaces_the_observer(graph, inputs):
    def nothing(self, *_):
        return None

    torch.profiler.ExecutionTraceObserver.start = nothing
    return graph.forward


@cheat
def clears_callbacks(graph, inputs):
    def run(*tensors):
        torch._C._autograd._clear_callbacks()
        return graph.forward(*tensors)

    return run
