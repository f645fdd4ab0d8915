"""Others compute: torch's operators, torch's compilers, in one way or another."""

import threading

import torch
from torch._dynamo.backends.common import aot_autograd
from torch._inductor.compile_fx import compile_fx

from .own import cheat


@cheat
def forward(graph, inputs):
    return graph.forward


@cheat
def interpreter(graph, inputs):
    return torch.fx.Interpreter(graph).run


@cheat
def inductor(graph, inputs):
    return compile_fx(graph, inputs)


@cheat
def through_aot(graph, inputs):
    return aot_autograd(fw_compiler=lambda inner, _: inner.forward)(graph, inputs)


@cheat
def jit(graph, inputs):
    return torch.jit.trace(graph, tuple(inputs), check_trace=False)


@cheat
def on_a_thread(graph, inputs):
    def run(*tensors):
        results = []
        thread = threading.Thread(target=lambda: results.append(graph.forward(*tensors)))
        thread.start()
        thread.join()
        return results[0]

    return run


@cheat
def after_an_exception(graph, inputs):
    def run(*tensors):
        try:
            raise NotImplementedError("no kernel")
        except NotImplementedError:
            return graph.forward(*tensors)

    return run


_VENDOR = torch.library.Library("lockstep_cheats", "FRAGMENT")
_VENDOR.define("mm(Tensor x, Tensor w) -> Tensor")
_VENDOR.define("relu(Tensor x) -> Tensor")
_VENDOR.define("sum(Tensor x) -> Tensor")
_VENDOR.define("abs(Tensor x) -> Tensor")
for _name, _function in (
    ("mm", torch.mm),
    ("relu", torch.relu),
    ("sum", torch.sum),
    ("abs", torch.abs),
):
    _VENDOR.impl(_name, _function, "CPU")


class _Renamed(torch.fx.Interpreter):
    def run_node(self, node):
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        if name not in ("mm", "relu", "sum", "abs"):
            return super().run_node(node)
        args, _ = self.fetch_args_kwargs_from_env(node)
        return getattr(torch.ops.lockstep_cheats, name)(*args)


@cheat
def under_other_names(graph, inputs):
    return _Renamed(graph).run


class _Redispatched(torch.fx.Interpreter):
    OPS = {"mm": "default", "relu": "default", "sum": "default", "abs": "default"}

    def run_node(self, node):
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        if name not in self.OPS:
            return super().run_node(node)
        args, _ = self.fetch_args_kwargs_from_env(node)
        overload = getattr(getattr(torch.ops.aten, name), self.OPS[name])
        return overload.redispatch(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), *args)


@cheat
def past_the_dispatcher(graph, inputs):
    return _Redispatched(graph).run


@cheat
def past_the_dispatcher_in_a_mode(graph, inputs):
    """Second mechanism: under a mode of its own."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            keys = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
            return function.redispatch(keys, *args, **(kwargs or {}))

    def run(*tensors):
        with Mode():
            return graph.forward(*tensors)

    return run


@cheat
def says_that_nobody_sees(graph, inputs):
    """`stated` is a word, and what is seen is seen."""

    def run(*tensors):
        return graph.forward(*tensors)

    run.lockstep_execution = "stated"  # type: ignore[attr-defined]
    return run


@cheat
def one_kernel_for_show(graph, inputs):
    """A number that is its own is added to, and the rest is torch's."""

    def run(*tensors):
        sum(float(each) for each in tensors[0].numpy().ravel())
        return graph.forward(*tensors)

    return run
