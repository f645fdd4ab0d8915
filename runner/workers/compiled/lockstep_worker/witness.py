"""Who executed a program: what ran of torch's operators and of Inductor's kernels while a backend's
callables ran."""

import contextlib
import functools
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from typing import Any

from .compat import dynamo, inductor, trace
from .executed import count

#: Executions, told apart: the program as Python runs it, and the path on trial. Others are named by
#: their backends.
EAGER, PATH = "eager", "path"
#: What a backend may set to "stated" on a callable that it returns: nobody can see what that
#: executes.
STATED = "lockstep_execution"
_KERNEL = re.compile(r"^\s+(\w+_fused_\w+?)(?:_\d+)?(?:\.run)?\(", re.MULTILINE)


class Witness:
    """Watches one process, from `watch` on. `of` and `repetition` say what is being executed."""

    def __init__(self, directory: str) -> None:
        self.of, self.repetition = "", 0
        self.stated = False
        self._file = os.path.join(directory, "trace.json")
        self._observer: trace.Observer | None = None
        self._windows: dict[int, tuple[str, int]] = {}  # number in the trace → of, repetition
        self._calls: dict[tuple[str, int], list[trace.Call]] = defaultdict(list)
        self._kernels: dict[tuple[str, int], Counter] = defaultdict(Counter)
        self._lost: set[str] = set()
        self._aot: set[str] = set()

    def watch(self) -> None:
        """From now on what backends return is watched. Where this torch lacks a hook, what it shows
        is not seen."""
        for hook in (
            lambda: dynamo.on_aot(lambda: self._aot.add(self.of)),
            lambda: inductor.on_run(self._run_by_inductor),
            lambda: dynamo.on_returned(self._watched),
        ):
            with contextlib.suppress(AttributeError, ImportError):
                hook()

    def call(self) -> contextlib.AbstractContextManager:
        """Around a call of the program: of a compiled one only what its backend returned is
        watched."""
        return self._window() if self.of == EAGER else contextlib.nullcontext()

    def backward(self) -> contextlib.AbstractContextManager:
        """Around a backward pass. The first one of a compiled program may compile, which is
        nobody's execution."""
        return (
            self._window() if self.of == EAGER or self.repetition > 0 else contextlib.nullcontext()
        )

    def through_aot(self, of: str) -> bool:
        """Whether AOT autograd was at work."""
        return of in self._aot

    def executed(self, of: str, on_purpose: Collection[str] = ()) -> Counter | None:
        """Operator → calls, and `inductor/KERNEL` → calls: of each the most of one repetition. None
        where nothing was watched, or another observer was in the way."""
        self._read()
        repetitions = [key for key in {*self._calls, *self._kernels} if key[0] == of]
        if not repetitions or of in self._lost:
            return None
        most: Counter = Counter()
        for key in repetitions:
            most |= count(self._calls[key], on_purpose, self.through_aot(of)) + self._kernels[key]
        return most

    @contextlib.contextmanager
    def _window(self) -> Any:
        if self._observer is None:
            self._observer = trace.Observer(self._file)
        with self._observer.window() as number:
            if number is not None:
                self._windows[number] = self.of, self.repetition
            yield

    def _watched(self, function: Callable) -> Callable:
        """What a backend returned, watched whenever it is called."""
        self.stated = self.stated or getattr(function, STATED, None) == "stated"

        # Without the attributes of `function`: by one of them Dynamo would look behind this one.
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self._window():
                return function(*args, **kwargs)

        return watched

    def _run_by_inductor(self, code: str) -> None:
        self._kernels[self.of, self.repetition].update(kernels(code))

    def _read(self) -> None:
        if self._observer is None:
            return
        found = self._observer.close()
        self._observer = None
        for number, key in self._windows.items():
            if number in found:
                self._calls[key] += found[number]
            else:
                self._lost.add(key[0])
        self._windows = {}


@functools.cache
def kernels(code: str) -> Counter:
    """`inductor/KERNEL` → calls in generated code."""
    return Counter(f"inductor/{name}" for name in _KERNEL.findall(code))


def foreign(executed: Counter, allowed: Collection[str]) -> Counter:
    """What ran though none of the globs in `allowed` names it."""
    return Counter(
        {
            name: calls
            for name, calls in executed.items()
            if not any(fnmatchcase(name, glob) for glob in allowed)
        }
    )


def covers(executed: Counter, of: Counter) -> bool:
    """Whether everything of a trace is in what was executed; no trace is nothing to cover."""
    return bool(of) and executed >= of
