"""Contexts of the protocol: as text inside a program and as managers around one."""

import contextlib
from collections.abc import Iterator

import torch

from . import names
from .problems import Malformed, Unsupported

#: Helper classes for contexts that torch has only as pairs of calls; their text goes above the
#: program, and Dynamo traces them as it would a user's own.
HELPERS = {
    "deterministic_algorithms": """\
class deterministic_algorithms:
    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        self.before = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(self.mode)

    def __exit__(self, *_):
        torch.use_deterministic_algorithms(self.before)
""",
    "default_dtype": """\
class default_dtype:
    def __init__(self, dtype):
        self.dtype = dtype

    def __enter__(self):
        self.before = torch.get_default_dtype()
        torch.set_default_dtype(self.dtype)

    def __exit__(self, *_):
        torch.set_default_dtype(self.before)
""",
}

#: The member that says who makes a call: no manager has it.
THREAD = "thread"
#: Members that stay in force for a backward after the call, which Python runs outside of the
#: others' `with`.
BACKWARD = ("deterministic_algorithms", "default_dtype")


def _flag(context: dict, key: str) -> bool:
    value = context[key]
    if not isinstance(value, bool):
        raise Malformed(f"context.{key}: true or false is expected, found {value!r:.80}")
    return value


def lines(context: object) -> Iterator[tuple[str, str | None]]:
    """The managers of a context as text, outermost first, each with the helper it needs or None.
    Raises `Malformed`, and `Unsupported` for a key it does not know: leaving it out would execute
    another program."""
    if not isinstance(context, dict):
        raise Malformed("a context is an object")
    for key, value in context.items():
        if key == "grad":
            yield ("torch.enable_grad()" if _flag(context, key) else "torch.no_grad()"), None
        elif key == "inference":
            yield f"torch.inference_mode({_flag(context, key)})", None
        elif key == "deterministic_algorithms":
            yield f"deterministic_algorithms({_flag(context, key)})", key
        elif key == "default_dtype":
            yield f"default_dtype({names.dtype_text(value)})", key
        elif key == "autocast":
            if not isinstance(value, dict):
                raise Malformed("context.autocast: an object is expected")
            device = names.device(value.get("device", "cpu")).split(":")[0]
            dtype = (
                f", dtype={names.dtype_text(value['dtype'])}"
                if value.get("dtype") is not None
                else ""
            )
            enabled = value.get("enabled", True)
            if not isinstance(enabled, bool):
                raise Malformed("context.autocast.enabled: true or false is expected")
            off = "" if enabled else ", enabled=False"
            yield f"torch.autocast({device!r}{dtype}{off})", None
        elif key == THREAD:
            if value is not True:
                raise Malformed("context.thread: true is expected")
        elif key == "compiled":
            # source.py has taken the block that may say so out of what is compiled.
            raise Malformed("context.compiled: only the last step of a program stands beside it")
        else:
            raise Unsupported(f"this worker knows no context {key!r:.80}")


def enter(context: dict, only: tuple[str, ...] | None = None) -> contextlib.ExitStack:
    """Puts a context in force until the result is closed; of its members `only` these, if given.
    Raises as `lines`."""
    stack = contextlib.ExitStack()
    scope = {"torch": torch}
    for key in HELPERS:
        exec(HELPERS[key], scope)
    for key in context:
        if only is not None and key not in only:
            continue
        for text, _ in lines({key: context[key]}):
            # The text is ours, built from looked-up words only: the manager that the source has.
            stack.enter_context(eval(text, scope))
    return stack
