"""Nothing is compiled: torch is to run the program itself, or to be blamed."""

import torch
from torch._dynamo import exc

from .own import cheat


@cheat
def skips_frames(graph, inputs):
    raise exc.SkipFrame("not this one")


@cheat
def raises_unsupported(graph, inputs):
    try:
        raise exc.Unsupported("nothing is supported", "nothing")
    except TypeError:  # of releases before it had a second argument
        raise exc.Unsupported("nothing is supported") from None


@cheat
def raises_what_users_raise(graph, inputs):
    raise exc.UserError(exc.UserErrorType.DYNAMIC_CONTROL_FLOW, "your program is to blame")


@cheat
def refuses(graph, inputs):
    raise NotImplementedError("not supported")


@cheat
def returns_none(graph, inputs):
    return None


@cheat
def switches_dynamo_off(graph, inputs):
    """From now on every program runs eagerly."""
    torch._dynamo.config.disable = True
    raise exc.SkipFrame("not this one")


@cheat
def resets_dynamo(graph, inputs):
    """Has the program compiled again when the real inputs are there, and executes it then."""
    known = []
    if type(inputs[0]) is torch.Tensor:
        known = list(graph.forward(*inputs))

    def run(*tensors):
        torch._dynamo.reset()
        return [result.clone() for result in known]

    return run
