"""What a call leaves behind in the process."""

import os
import random

import torch

from .registry import call

T = torch.Tensor
_BUFFERS: dict = {}


@call("state", needs=("grad",))
def gradients_are_left_off(run, inputs):
    """torch.set_grad_enabled(False) is not undone."""
    outputs = run(*inputs)
    torch.set_grad_enabled(False)
    return outputs


@call("state", needs=("tensors",))
def inference_mode_is_left_on(run, inputs):
    """A guard is entered and not left."""
    outputs = run(*inputs)
    torch._C._set_grad_enabled(not torch.is_grad_enabled())
    return outputs


@call("state", needs=("tensors",))
def default_dtype_is_double(run, inputs):
    """torch.set_default_dtype(float64) is not undone."""
    outputs = run(*inputs)
    torch.set_default_dtype(torch.float64)
    return outputs


@call("state", needs=("tensors",))
def default_dtype_is_short(run, inputs):
    """The default dtype is bfloat16 while the graph runs, and after."""
    torch.set_default_dtype(torch.bfloat16)
    return run(*inputs)


@call("state", needs=("tensors",))
def generator_is_seeded(run, inputs):
    """The backend seeds torch's generator."""
    outputs = run(*inputs)
    torch.manual_seed(7)
    return outputs


@call("state", needs=("tensors",))
def generator_is_advanced(run, inputs):
    """The backend's tuner draws from torch's generator."""
    outputs = run(*inputs)
    torch.rand(3)
    return outputs


@call("state", needs=("random",))
def generator_is_advanced_before(run, inputs):
    """The backend's tuner draws from torch's generator before the program does."""
    torch.rand(3)
    return run(*inputs)


@call("state", needs=("tensors",))
def determinism_is_left_on(run, inputs):
    """torch.use_deterministic_algorithms(True) is not undone."""
    outputs = run(*inputs)
    torch.use_deterministic_algorithms(
        not torch.are_deterministic_algorithms_enabled(), warn_only=True
    )
    return outputs


@call("state", needs=("tensors",))
def threads_are_left_behind(run, inputs):
    """The number of threads is another one."""
    outputs = run(*inputs)
    torch.set_num_threads(torch.get_num_threads() + 1)
    return outputs


@call("state", needs=("tensors",))
def autocast_is_left_on(run, inputs):
    """Autocast of the CPU is not switched off again."""
    outputs = run(*inputs)
    torch.set_autocast_enabled("cpu", not torch.is_autocast_enabled("cpu"))
    return outputs


@call("state", needs=("subnormals",))
def denormals_are_flushed(run, inputs):
    """torch.set_flush_denormal(True) is not undone."""
    outputs = run(*inputs)
    torch.set_flush_denormal(True)
    return outputs


@call("state", needs=("tensors",))
def python_is_seeded(run, inputs):
    """The backend seeds Python's generator."""
    outputs = run(*inputs)
    random.seed(0)
    return outputs


@call("state", needs=("tensors",))
def directory_is_changed(run, inputs):
    """The compiler leaves the process in another directory."""
    outputs = run(*inputs)
    os.chdir("/")
    return outputs


@call("state", needs=("tensors",))
def output_buffers_are_reused(run, inputs):
    """Every call of a graph returns the same memory: the results of the one before are
    overwritten."""
    outputs = list(run(*inputs))
    for at, each in enumerate(outputs):
        if (
            isinstance(each, T)
            and not each.requires_grad
            and not any(
                isinstance(one, T) and one.untyped_storage()._cdata == each.untyped_storage()._cdata
                for one in inputs
            )
        ):
            kept = _BUFFERS.setdefault((at, each.dtype, tuple(each.shape), each.stride()), each)
            if kept is not each:
                kept.copy_(each)
                outputs[at] = kept
    return outputs


@call("state", needs=("inputs", "aliases"))
def inputs_are_written_after_the_call(run, inputs):
    """The next call writes over the inputs of the one before."""
    for each in _BUFFERS.get("inputs", []):
        each.detach().zero_()
    _BUFFERS["inputs"] = [
        each
        for each in inputs
        if isinstance(each, T) and each.is_floating_point() and 0 not in each.stride()
    ]
    return run(*inputs)


@call("state", needs=("tensors",))
def accumulators_are_not_cleared(run, inputs):
    """From the second call on results are added to those before."""
    outputs = list(run(*inputs))
    for at, each in enumerate(outputs):
        if isinstance(each, T) and each.is_floating_point():
            key = "sum", at, tuple(each.shape)
            before = _BUFFERS.get(key)
            _BUFFERS[key] = each.detach().clone()
            outputs[at] = each if before is None else each + before
    return outputs
