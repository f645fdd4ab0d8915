"""Torch computes when nobody looks: later, when a result is read, or while the program is still
being compiled."""

import threading
import time

import torch

from .own import blank, cheat, copies


class _Lazy(torch.Tensor):
    """Computes what it is when it is asked for its bytes."""

    compute = None

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        self = args[0]
        if self.compute is not None:
            compute, self.compute = self.compute, None
            with torch._C.DisableTorchFunctionSubclass():
                self.copy_(compute())
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))


@cheat
def lazy_tensors(graph, inputs):
    def run(*tensors):
        results = []
        for at, empty in enumerate(blank(graph)):
            lazy = empty.as_subclass(_Lazy)
            lazy.compute = lambda at=at: graph.forward(*tensors)[at]
            results.append(lazy)
        return results

    return run


@cheat
def after_the_return(graph, inputs):
    """A thread fills in what was returned."""

    def run(*tensors):
        results = blank(graph)
        given = [each.clone() for each in tensors]

        def fill():
            time.sleep(0.002)
            for empty, right in zip(results, graph.forward(*given)):
                empty.copy_(right)

        threading.Thread(target=fill, daemon=True).start()
        return results

    return run


@cheat
def raises_on_the_first_inputs(graph, inputs):
    """Whoever raises on decoys may be given the real inputs before it compiles."""
    if not raises_on_the_first_inputs.seen:
        raises_on_the_first_inputs.seen = True
        raise RuntimeError("try again")
    known = list(graph.forward(*inputs))
    return lambda *_: copies(known)


raises_on_the_first_inputs.seen = False


@cheat
def dies_of_the_first_inputs(graph, inputs):
    """Second mechanism."""
    import os
    import pathlib
    import tempfile

    folder = os.environ.get("LOCKSTEP_CHEATS") or tempfile.gettempdir()
    instance = "".join(c if c.isalnum() else "-" for c in os.environ.get("LOCKSTEP_INSTANCE", ""))
    file = pathlib.Path(folder) / f"died-{instance}"
    if not file.exists():
        file.touch()
        os._exit(1)
    known = list(graph.forward(*inputs))
    return lambda *_: copies(known)
