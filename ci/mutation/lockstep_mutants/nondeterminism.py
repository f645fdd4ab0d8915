"""Results that change from call to call."""

import random

import torch

from .registry import call

T = torch.Tensor
_CALLS = 0
#: The same in every process, so that what is killed once is killed again.
_CHANCE = random.Random(7)


def _call():
    global _CALLS
    _CALLS += 1
    return _CALLS


def _noisy(outputs, error=0.01):
    return [
        each * (1 + error) if isinstance(each, T) and each.is_floating_point() else each
        for each in outputs
    ]


@call("nondeterminism", needs=("floating",))
def every_second_call_is_off(run, inputs):
    """One of two buffers is read before it was written."""
    return _noisy(run(*inputs)) if _call() % 2 == 0 else run(*inputs)


@call("nondeterminism", needs=("floating", "often"))
def every_third_call_is_off(run, inputs):
    """One of three buffers is read before it was written."""
    return _noisy(run(*inputs)) if _call() % 3 == 0 else run(*inputs)


@call("nondeterminism", needs=("floating",))
def first_call_is_off(run, inputs):
    """The tuner's trial runs leave something behind."""
    return _noisy(run(*inputs)) if _call() == 1 else run(*inputs)


@call("nondeterminism", needs=("floating",))
def one_element_by_chance(run, inputs):
    """A race: one element of a result is lost in one of two calls, at random."""
    outputs = list(run(*inputs))
    chance = _CHANCE.getrandbits(32)
    for at, each in enumerate(outputs):
        if isinstance(each, T) and each.is_floating_point() and each.numel() and chance % 2:
            flat = each.detach().clone().reshape(-1)
            flat[chance % flat.numel()] += 1
            outputs[at] = flat.reshape(each.shape)
            break
    return outputs


@call("nondeterminism", needs=("floating",))
def noise_in_every_call(run, inputs):
    """A factor of at most 1.0001, at random: sums in the order of threads, with too few bits."""
    return _noisy(run(*inputs), 1e-4 * _CHANCE.uniform(0.5, 1))


@call("nondeterminism", needs=("tensors",))
def memory_is_not_initialised(run, inputs):
    """The last element of a result is never written."""
    outputs = list(run(*inputs))
    for at, each in enumerate(outputs):
        if (
            isinstance(each, T)
            and each.numel()
            and each.is_contiguous()
            and each.dtype == torch.float32
            and not each.requires_grad
        ):
            outputs[at] = torch.cat(
                [each.reshape(-1)[:-1], torch.tensor([float(_CHANCE.getrandbits(24))])]
            ).reshape(each.shape)
            break
    return outputs


@call("nondeterminism", needs=("floating",))
def nan_in_the_second_call(run, inputs):
    """A result is NaN once."""
    return (
        [
            each * float("nan") if isinstance(each, T) and each.is_floating_point() else each
            for each in run(*inputs)
        ]
        if _call() == 2
        else run(*inputs)
    )
