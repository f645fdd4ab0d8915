"""Backends for `torch.compile` that do what no compiler should: each commits one fault, so that
tests can see that Lockstep finds it. Importing this module registers `lockstep_saboteur_<fault>`
and, for a fault that is committed from the second execution on only,
`lockstep_saboteur_second_<fault>`."""

import atexit
import ctypes
import os
import random
import signal
import threading
import time
import warnings

import torch
from torch._dynamo.backends.registry import register_backend

_calls = 0


def _tensor(outputs, dtype=torch.float32):
    """The first output of a dtype."""
    return next(
        i
        for i, value in enumerate(outputs)
        if isinstance(value, torch.Tensor) and value.dtype == dtype
    )


def _replace(outputs, change):
    at = _tensor(outputs)
    outputs[at] = change(outputs[at])


def nothing(outputs, inputs):
    """The control: it must conform."""


def flip_bit(outputs, inputs):
    outputs[_tensor(outputs)].view(torch.int32).view(-1)[0] ^= 1


def lose_nan(outputs, inputs):
    _replace(outputs, lambda t: torch.where(t.isnan(), 0.0, t))


def lose_inf(outputs, inputs):
    _replace(outputs, lambda t: torch.where(t.isinf(), torch.finfo(t.dtype).max, t))


def swap_zero(outputs, inputs):
    _replace(outputs, lambda t: torch.where(t == 0, -t, t))


def change_stride(outputs, inputs):
    _replace(outputs, lambda t: t.t().contiguous().t())


def change_dtype(outputs, inputs):
    _replace(outputs, lambda t: t.double())


def change_shape(outputs, inputs):
    _replace(outputs, lambda t: t.reshape(-1))


def demand_grad(outputs, inputs):
    _replace(outputs, lambda t: t.requires_grad_())


def lose_grad(outputs, inputs):
    """Results that no gradient comes from: the backward pass cannot begin."""
    outputs[:] = [output.detach() for output in outputs]


def alias_outputs(outputs, inputs):
    """Two outputs with the values they should have, on one storage."""
    both = torch.stack([outputs[0], outputs[1]])
    outputs[0], outputs[1] = both[0], both[1]


def alias_input(outputs, inputs):
    """An output with the values it should have, in the input's memory."""
    at = len(outputs) - 1  # a plain copy of the input
    outputs[at] = inputs[0].view(inputs[0].shape)


def return_input(outputs, inputs):
    outputs[len(outputs) - 1] = inputs[0]


def mutate_input(outputs, inputs):
    inputs[0].view(-1)[0] = 77.0


def nudge_input(outputs, inputs):
    """One unit in the last place of an input that the program leaves alone: within every
    tolerance."""
    inputs[0].view(torch.int32).view(-1)[0] += 1


def other_tie(outputs, inputs):
    """Other indices of equal values."""
    outputs[0].copy_(torch.tensor([2, 3]))
    outputs[1].copy_(torch.tensor([[2, 1], [3, 0]]))


def wrong_tie(outputs, inputs):
    """One index of a smaller value."""
    outputs[0].copy_(torch.tensor([2, 1]))


def repeated_tie(outputs, inputs):
    """One of two equal elements twice."""
    outputs[1].copy_(torch.tensor([[1, 1], [0, 2]]))


def one_percent(outputs, inputs):
    for output in outputs:
        output.mul_(1.01)


def raise_error(outputs, inputs):
    raise ValueError("the saboteur objects")


def hang(outputs, inputs):
    while True:
        time.sleep(60)


def segfault(outputs, inputs):
    ctypes.string_at(8)


def abort(outputs, inputs):
    os.abort()


def leave(outputs, inputs):
    os._exit(3)


def leave_with_zero(outputs, inputs):
    os._exit(0)


def ask_to_exit(outputs, inputs):
    raise SystemExit(3)


def be_killed(outputs, inputs):
    os.kill(os.getpid(), signal.SIGKILL)


def stop_itself(outputs, inputs):
    os.kill(os.getpid(), signal.SIGSTOP)


def allocate(outputs, inputs):
    """Asks for more than the address space that the run allows."""
    _replace(outputs, lambda t: torch.empty(1 << 44, dtype=torch.uint8))


def fail_to_allocate(outputs, inputs):
    """What generated C++ raises where memory ends."""
    raise RuntimeError("std::bad_alloc")


def kill_the_worker(outputs, inputs):
    """The parent of this process, and with it whatever else it executes at the moment."""
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def write_half(outputs, inputs):
    """An observation that is half there, as if written to a full disk."""
    directory = os.path.dirname(os.readlink("/proc/self/fd/2"))
    with open(os.path.join(directory, "observation.json"), "w", encoding="utf-8") as file:
        file.write('{"outcome": "returned", "runs": [{"calls": [{"outp')
    os._exit(0)


def lie_about_bytes(outputs, inputs):
    """An observation whose view reaches outside its storage."""
    directory = os.path.dirname(os.readlink("/proc/self/fd/2"))
    view = {
        "storage": 0,
        "dtype": "float32",
        "shape": [1 << 20],
        "strides": [1],
        "offset": 0,
        "device": "cpu",
    }
    with open(os.path.join(directory, "lie"), "wb") as file:
        file.write(bytes(8))
    import json

    with open(os.path.join(directory, "observation.json"), "w", encoding="utf-8") as file:
        json.dump(
            {
                "outcome": "returned",
                "runs": [{"calls": [{"outputs": {"a": view}, "inputs": {}, "grads": {}}]}],
                "storages": [{"file": "lie", "bytes": 8}],
                "stage": "run",
            },
            file,
        )
    os._exit(0)


def chatter(outputs, inputs):
    """Prints what looks like the protocol; it must reach nobody."""
    print('{"type": "ended", "run": 1, "exit": 9}', flush=True)
    os.write(1, b'{"type": "hello"}\n')


def flip_last_bit(outputs, inputs):
    """The smallest change that there is: the last bit of the last element of a result that is not
    an input."""
    outputs[_tensor(outputs)].view(torch.int32).view(-1)[-1] ^= 1


def draw(outputs, inputs):
    """One random number that nobody asked for."""
    torch.rand(1)


def lose_grad_mode(outputs, inputs):
    torch._C._set_grad_enabled(False)


def change_default_dtype(outputs, inputs):
    torch.set_default_dtype(torch.float64)


def demand_determinism(outputs, inputs):
    torch.use_deterministic_algorithms(True, warn_only=True)


def take_a_thread(outputs, inputs):
    torch.set_num_threads(torch.get_num_threads() + 1)


#: By the name of a mode, what leaves it otherwise than the program does.
SURROUNDINGS = {
    "environment": lambda: os.environ.update(LOCKSTEP_LEFT="1"),
    "signals": lambda: signal.signal(signal.SIGUSR2, signal.SIG_IGN),
    "python_random": lambda: random.random(),
    "default_device": lambda: torch.set_default_device("meta"),
    "matmul_precision": lambda: torch.set_float32_matmul_precision("medium"),
    "anomaly": lambda: torch.autograd.set_detect_anomaly(True),
    "rounding": lambda: ctypes.CDLL(None).fesetround(0x400),
    "subnormals": lambda: torch.set_flush_denormal(True),
    "warning_filters": lambda: warnings.simplefilter("error", BytesWarning),
}


def change_surroundings(outputs, inputs):
    """All of them, after the results are there."""
    for change in SURROUNDINGS.values():
        change()


_kept: list = []


def keep_input(outputs, inputs):
    """Once, as who compiles on the first inputs and holds them."""
    if not _kept:
        _kept.append(inputs[0])


def keep_output(outputs, inputs):
    """In a cycle that nothing leads to but a list."""
    holder = [outputs[0]]
    holder.append(holder)
    _kept.append(holder)


def cry_out(outputs, inputs):
    warnings.warn("the saboteur warns", stacklevel=1)


def abort_at_exit(outputs, inputs):
    if not _kept:
        _kept.append(atexit.register(os.abort))


_buffer: list = []


def reuse_memory(outputs, inputs):
    """A static output buffer: right when it is returned, and the next call's from then on."""
    at = _tensor(outputs)
    if not _buffer:
        _buffer.append(torch.empty_like(outputs[at]))
    outputs[at] = _buffer[0].copy_(outputs[at])


def _nudge(outputs, places):
    """Changes the last bit of these elements: less than any policy for values finds."""
    numbers = outputs[_tensor(outputs)].view(torch.int32).view(-1)
    for place in places:
        numbers[place] ^= 1


#: What no result may depend on, by the relation that shows it: the elements that it changes.
CIRCUMSTANCES = {
    "batch": lambda x: [0] if x.shape[0] == 1 else [],
    "rows": lambda x: [0] if x.shape[0] > 1 and x[0, 0] < x[-1, 0] else [],
    "layout": lambda x: [0] if x.data_ptr() % 64 else [],
    "process": lambda x: [at for at in range(12) if os.getpid() >> at & 1],
    "threads": lambda x: [0] if torch.get_num_threads() == 1 else [],
}


def _depend(circumstance):
    def depend(outputs, inputs):
        x = next(value for value in inputs if value.dim() == 2)
        _nudge(outputs, [at for at in CIRCUMSTANCES[circumstance](x) if at < x.numel()])

    depend.__name__ = "depend_on_" + circumstance
    return depend


def second(fault):
    """Right the first time, and the fault from then on."""

    def later(outputs, inputs):
        global _calls
        _calls += 1
        if _calls > 1:
            fault(outputs, inputs)

    later.__name__ = "second_" + fault.__name__
    return later


def _backend(fault):
    def backend(graph, examples):
        def run(*inputs):
            outputs = list(graph.forward(*inputs))
            fault(outputs, [value for value in inputs if isinstance(value, torch.Tensor)])
            return tuple(outputs)

        return run

    return backend


for _fault in (
    *map(_depend, CIRCUMSTANCES),
    *(nothing, flip_bit, lose_nan, lose_inf, swap_zero, change_stride, change_dtype),
    *(change_shape, demand_grad, lose_grad, alias_outputs, alias_input, return_input),
    *(mutate_input, nudge_input, other_tie, wrong_tie, repeated_tie, one_percent, raise_error),
    *(hang, segfault, abort, leave, leave_with_zero, ask_to_exit, be_killed, stop_itself),
    *(allocate, fail_to_allocate, write_half, lie_about_bytes, chatter, kill_the_worker, draw),
    *(lose_grad_mode, change_default_dtype, demand_determinism, take_a_thread, reuse_memory),
    *(change_surroundings, keep_input, keep_output, cry_out, abort_at_exit),
    *map(
        second,
        (
            *(nothing, flip_last_bit, lose_nan, swap_zero, change_stride, change_dtype),
            *(change_shape, demand_grad, alias_outputs, alias_input, return_input),
            mutate_input,
        ),
    ),
):
    register_backend(_backend(_fault), name="lockstep_saboteur_" + _fault.__name__)


def _of(graph, operator):
    """The first call of an operator that takes graphs."""
    return next(node for node in graph.graph.nodes if node.target is operator)


@register_backend(name="lockstep_saboteur_other_branch")
def other_branch(graph, examples):
    """Takes the branch that the elements do not say."""
    node = _of(graph, torch.ops.higher_order.cond)
    predicate, do, otherwise, *rest = node.args
    node.args = (predicate, otherwise, do, *rest)
    graph.recompile()
    return graph.forward


@register_backend(name="lockstep_saboteur_drop_carry")
def drop_carry(graph, examples):
    """Begins each slice of a scan with what the first one began with."""
    scan = torch.ops.higher_order.scan

    def run(*inputs):
        return Each(graph).run(*inputs)

    class Each(torch.fx.Interpreter):
        def call_function(self, target, args, kwargs):
            if target is not scan:
                return super().call_function(target, args, kwargs)
            combine, init, xs, more = args
            parts = [
                scan(combine, init, [x[i : i + 1] for x in xs], more) for i in range(len(xs[0]))
            ]
            return (*parts[-1][:1], *(torch.cat(each) for each in list(zip(*parts))[1:]))

    return run


@register_backend(name="lockstep_saboteur_hide_write")
def hide_write(graph, examples):
    """Writes to inputs behind autograd's back."""

    def run(*inputs):
        copies = [value.clone() for value in inputs]
        outputs = graph.forward(*copies)
        for value, copy in zip(inputs, copies):
            value.data.copy_(copy)
        return outputs

    return run


@register_backend(name="lockstep_saboteur_hush")
def hush(graph, examples):
    def run(*inputs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return graph.forward(*inputs)

    return run


@register_backend(name="lockstep_saboteur_accept")
def accept(graph, examples):
    """Computes something without looking at the program: what eager refuses is accepted."""
    return lambda *inputs: (torch.zeros(3),)


@register_backend(name="lockstep_saboteur_mutate_and_raise")
def mutate_before_raising(graph, examples):
    """Raises what eager raises, after a write that eager does not make."""

    def run(*inputs):
        next(
            value
            for value in inputs
            if isinstance(value, torch.Tensor) and value.is_floating_point()
        ).add_(1)
        return graph.forward(*inputs)

    return run


@register_backend(name="lockstep_saboteur_leave_modes_and_raise")
def leave_modes_and_raise(graph, examples):
    """Raises what eager raises, with the default dtype changed."""

    def run(*inputs):
        torch.set_default_dtype(torch.float64)
        return graph.forward(*inputs)

    return run


def skip_step(tensors, before, again):
    """As a scaler that finds no finite gradient."""
    for tensor, old in zip(tensors, before):
        tensor.copy_(old)


def update_twice(tensors, before, again):
    tensors[0].add_(tensors[0] - before[0])


def decay_another(tensors, before, again):
    """Weight decay on a tensor that has none, by little."""
    tensors[-1].mul_(0.9999)


def keep_stale(tensors, before, again):
    """What the first call left."""
    for tensor, old in zip(tensors, again["first"]):
        tensor.copy_(old)


def reuse_batch(tensors, before, again):
    """What the call before had for its backward."""
    for tensor, other in zip(tensors, again["with the last batch"]()):
        tensor.copy_(other)


def _training(fault):
    """Right but in the third call, on the state that the program writes."""

    def backend(graph, examples):
        first: list = []
        last: list = []
        calls = 0

        def run(*inputs):
            nonlocal calls
            calls += 1
            given = [value.detach() for value in inputs if isinstance(value, torch.Tensor)]
            before = [value.clone() for value in given]

            def with_the_last_batch():
                now = [value.clone() for value in given]
                for value, old, other in zip(given, before, last):
                    value.copy_(old if not torch.equal(value, old) else other)
                graph.forward(*inputs)
                other = [value.clone() for value in given]
                for value, new in zip(given, now):
                    value.copy_(new)
                return [other[at] for at in written]

            outputs = graph.forward(*inputs)
            written = [at for at, old in enumerate(before) if not torch.equal(given[at], old)]
            tensors = [given[at] for at in written]
            if not first:
                first[:] = [value.clone() for value in tensors]
            if calls % 5 == 3:
                fault(
                    tensors,
                    [before[at] for at in written],
                    {"first": first, "with the last batch": with_the_last_batch},
                )
            last[:] = before
            return outputs

        return run

    return backend


TRAINING = (skip_step, update_twice, decay_another, keep_stale, reuse_batch)
for _fault in TRAINING:
    register_backend(_training(_fault), name="lockstep_saboteur_train_" + _fault.__name__)


@register_backend(name="lockstep_saboteur_train_nudge_loss")
def nudge_loss(graph, examples):
    """By the last bit, which is within what errors may have grown to."""

    def run(*inputs):
        outputs = [value.clone() for value in graph.forward(*inputs)]
        outputs[0].view(torch.int32).add_(1)
        return tuple(outputs)

    return run


@register_backend(name="lockstep_saboteur_fold_random")
def fold_random(graph, examples):
    """Draws its random numbers once, and has the same ones for every call; it leaves the generator
    as eager does."""
    found: list = []

    def run(*inputs):
        outputs = graph.forward(*inputs)
        if not found:
            found.append([value.clone() for value in outputs])
        return [value.clone() for value in found[0]]

    return run


@register_backend(name="lockstep_saboteur_fold_by_call")
def fold_by_call(graph, examples):
    """Another generator than torch's, which does begin anew with every call: its numbers hang on
    nothing."""

    def run(*inputs):
        outputs = graph.forward(*inputs)
        return [
            torch.rand(value.shape, generator=torch.Generator().manual_seed(7)) for value in outputs
        ]

    return run


@register_backend(name="lockstep_saboteur_stay_in_a_thread")
def stay_in_a_thread(graph, examples):
    """A buffer that only the thread fills that compiles."""
    compiling = threading.get_ident()

    def run(*inputs):
        outputs = graph.forward(*inputs)
        if threading.get_ident() == compiling:
            return outputs
        return [torch.zeros_like(value) for value in outputs]

    return run


class _Keeping(torch.autograd.Function):
    """x * x that keeps its operand where no backward can free it."""

    @staticmethod
    def forward(ctx, x):
        ctx.x = x.detach()
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.x * gradient


@register_backend(name="lockstep_saboteur_keep_graph")
def keep_graph(graph, examples):
    return lambda x: (_Keeping.apply(x),)


@register_backend(name="lockstep_saboteur_in_double")
def in_double(graph, examples):
    """No saboteur: more accurate than eager."""
    return lambda *inputs: tuple(
        output.float() for output in graph.forward(*(value.double() for value in inputs))
    )


@register_backend(name="lockstep_saboteur_compile_hang")
def compile_hang(graph, examples):
    time.sleep(3600)


@register_backend(name="lockstep_saboteur_compile_error")
def compile_error(graph, examples):
    raise AssertionError("the saboteur cannot compile")


@register_backend(name="lockstep_saboteur_compile_crash")
def compile_crash(graph, examples):
    ctypes.string_at(8)
