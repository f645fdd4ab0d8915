"""Backends for `torch.compile` that refuse, each in another way, and some that fail:
`lockstep_refuser_<name>`. What they do not refuse they compute as eager does."""

import logging
import os
import subprocess
import sys

import torch
from torch._dynamo.backends.registry import register_backend


class Unsupported(Exception):
    """What a vendor's compiler says: nobody but its path file knows that it is a refusal."""


class NoRule(NotImplementedError):
    pass


def not_implemented(graph):
    raise NotImplementedError("no rule for relu")


def derived(graph):
    raise NoRule("no rule for relu")


def torchs_own(graph):
    raise torch._subclasses.fake_tensor.UnsupportedOperatorException(torch.ops.aten.relu.default)


def own_class(graph):
    raise Unsupported("relu is not for us")


def in_words(graph):
    raise RuntimeError("relu: not supported by the refuser")


def fails(graph):
    raise RuntimeError("broken")


def points(graph):
    print("pass 1 of 2\nerror: no register for relu\npass 2 was left out", file=sys.stderr)
    raise RuntimeError("compilation failed, see diagnostics")


def logs(graph):
    logging.getLogger("refuser").error("error: no register for relu")
    raise RuntimeError("compilation failed; check the log")


def chained(graph):
    ended = subprocess.CalledProcessError(
        1, ["cc"], stderr=b"core.c:3: error: relu is no function\n1 file\n"
    )
    raise RuntimeError("the compiler of the refuser ended") from ended


def noted(graph):
    error = RuntimeError("the refuser failed")
    vars(error)["__notes__"] = ["while it placed relu"]  # as add_note of Python 3.11 leaves it
    raise error


def nothing(graph):
    """The control."""


def at_run(raised):
    def refuses(graph):
        def run(*inputs):
            raise raised

        return run

    return refuses


def leaves(status):
    def refuses(graph):
        return lambda *inputs: os._exit(status)

    return refuses


def contiguous(graph):
    return lambda *inputs: tuple(output.contiguous() for output in graph.forward(*inputs))


BACKENDS = {
    each.__name__: each
    for each in (
        not_implemented,
        derived,
        torchs_own,
        own_class,
        in_words,
        fails,
        points,
        logs,
        chained,
        noted,
        nothing,
        contiguous,
    )
}
BACKENDS |= {
    "lazy": at_run(NotImplementedError("no kernel of ours")),
    "lazy_class": at_run(Unsupported("relu is not for us")),
    "index_error": at_run(IndexError("in other words")),
    "value_error": at_run(ValueError("another error")),
    "leave_64": leaves(64),
    "leave_70": leaves(70),
}


def _backend(refuses):
    return lambda graph, examples: refuses(graph) or graph.forward


for _name, _refuses in BACKENDS.items():
    register_backend(_backend(_refuses), name="lockstep_refuser_" + _name)
