"""Whether what watches and writes down is still what it was: a backend on trial is in the same
process, and could put something else in its place."""

import sys
import types
from collections.abc import Iterator
from typing import Any

from .compat.trace import rests_on


class Integrity:
    """What Lockstep's own modules in this process consist of, and what of torch's they rest on, as
    they were when it was made."""

    def __init__(self) -> None:
        # Strong references: a number could be given to something else.
        self._before = dict(_parts())

    def changed(self) -> list[str]:
        """The names of what is another one by now, at most a few."""
        now = dict(_parts())
        names = [
            name
            for name, part in self._before.items()
            if name not in now or any(a is not b for a, b in zip(part, now[name]))
        ]
        return sorted(names)[:5]


def _parts() -> Iterator[tuple[str, tuple]]:
    """Name → a function, and the code that it has."""
    package = __name__.rpartition(".")[0]
    for name, module in list(sys.modules.items()):
        if name.startswith(package + ".") and ".compat." not in name:
            yield from _functions(name.removeprefix(package + "."), vars(module), 2)
    for name, owner, attribute in rests_on():
        found = getattr(owner, attribute, None)
        yield name, (found, getattr(found, "__code__", None))


def _functions(prefix: str, members: Any, depth: int) -> Iterator[tuple[str, tuple]]:
    for name, member in list(members.items()):
        if isinstance(member, types.FunctionType):
            yield f"{prefix}.{name}", (member, member.__code__)
        elif isinstance(member, type) and depth > 1:
            if member.__module__.endswith(prefix):
                yield from _functions(f"{prefix}.{name}", vars(member), depth - 1)
