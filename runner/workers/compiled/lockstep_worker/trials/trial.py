"""One hook into torch, and the programs that try it."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..proof import Watch

#: The length of the vector for which Inductor compiles `two_steps`: one kernel for all trials,
#: which the warm-up builds in a new cache beside its own.
TRIED = 4


class Trial(NamedTuple):
    """One hook. `works` raises where it does not work."""

    name: str
    costs: str  # what goes without it
    works: Callable[[], None]


def expect(what: str, found: object, expected: object) -> None:
    """Raises `AssertionError` unless the two are equal; the message says what was found."""
    if found != expected:
        raise AssertionError(f"{what}: found {found!r:.80}, expected {expected!r:.80}")


def compiled(
    function: Callable,
    *calls: int,
    backend: str | Callable = "eager",
    fullgraph: bool = True,
    hook: Callable[[], None] = lambda: None,
) -> dict:
    """The proof of compiling `function`, and of calling it on a vector of each of these lengths.
    `hook` is called before, when Dynamo has been reset."""
    import torch

    watch = Watch()
    hook()
    program = torch.compile(function, backend=backend, fullgraph=fullgraph, dynamic=False)
    for length in calls:
        program(torch.ones(length))
    return watch.proof()


def two_steps(x: Any) -> Any:
    """A program of two operators."""
    return x.relu() + 1


def untraced() -> Callable:
    """A function that Dynamo does not trace."""
    import torch

    return torch.compiler.disable(lambda x: x)
