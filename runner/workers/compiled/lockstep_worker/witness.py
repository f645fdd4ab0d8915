"""Who executed a program: what ran of torch's operators and of Inductor's kernels while a backend's
callables ran. A `Witness` watches in the process that executes; what it wrote down is read as
`Testimony` in another one."""

import contextlib
import functools
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from typing import Any

from .compat import dynamo, inductor, operators, trace
from .executed import count

#: Executions, told apart: the program as Python runs it, and the path on trial. Others are named by
#: their backends.
EAGER, PATH = "eager", "path"
#: What a backend executes while it compiles though the inputs that are judged are there.
COMPILING = "compiling"
#: What a backend may set to "stated" on a callable that it returns: nobody can see what that
#: executes.
STATED = "lockstep_execution"
_KERNEL = re.compile(r"^\s+(\w+_fused_\w+?)(?:_\d+)?(?:\.run)?\(", re.MULTILINE)


class Witness:
    """Watches one process, from `watch` on. `of` and `repetition` say what is being executed; below
    0 that is nobody's execution."""

    def __init__(self, file: int) -> None:
        """`file` is a descriptor: the trace is written there."""
        self.of, self.repetition = "", 0
        #: Whether the inputs that are judged are there.
        self.inputs_there = False
        self._file = file
        self._observer: trace.Observer | None = None
        self._windows: list[list] = []  # number in the trace, of, repetition
        self._kernels: dict[tuple[str, int], Counter] = defaultdict(Counter)
        self._stated = False
        self._aot: set[str] = set()
        self._put_out: set[str] = set()
        self._backend = Counter(called=0, raised=0)

    def watch(self) -> None:
        """From now on what backends return is watched. Where this torch lacks a hook, what it shows
        is not seen."""
        for hook in (
            lambda: dynamo.on_aot(lambda: self._aot.add(self.of)),
            lambda: inductor.on_run(self._run_by_inductor),
            lambda: dynamo.on_returned(self._watched, self._asked),
            operators.show_redispatched,
            lambda: trace.on_put_out(lambda: self._put_out.add(self.of)),
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

    def words(self) -> dict:
        """What a `Testimony` reads beside the trace, which is written now."""
        if self._observer is not None:
            self._observer.close()
            self._observer = None
        return {
            "windows": self._windows,
            "kernels": [[*key, dict(calls)] for key, calls in self._kernels.items()],
            "aot": sorted(self._aot),
            "put_out": sorted(self._put_out),
            "stated": self._stated,
            "backend": dict(self._backend),
        }

    @contextlib.contextmanager
    def _window(self, of: str = "") -> Any:
        if self._observer is None:
            self._observer = trace.Observer(f"/proc/self/fd/{self._file}")
        with self._observer.window() as number:
            if number is not None:
                self._windows.append([number, of or self.of, self.repetition])
            yield

    @contextlib.contextmanager
    def _asked(self) -> Any:
        """Around a backend's compiling of a graph."""
        self._backend["called"] += self.of == PATH
        watched = self.of == PATH and self.inputs_there
        try:
            with self._window(COMPILING) if watched else contextlib.nullcontext():
                yield
        except BaseException:
            self._backend["raised"] += self.of == PATH
            raise

    def _watched(self, function: Callable) -> Callable:
        """What a backend returned, watched whenever it is called."""
        self._stated = self._stated or getattr(function, STATED, None) == "stated"

        # Without the attributes of `function`: by one of them Dynamo would look behind this one.
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self._window():
                return function(*args, **kwargs)

        return watched

    def _run_by_inductor(self, code: str) -> None:
        self._kernels[self.of, self.repetition].update(kernels(code))


class Testimony:
    """What a witness wrote down, read: which operators and kernels ran, by execution."""

    def __init__(self, file: int, words: object) -> None:
        """`file` has the trace. Nothing is taken for granted: the witness was in the same process
        as who it watched. Raises `ValueError` where the words are no witness's."""
        try:
            self._take(trace.read(file), words)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"no words of a witness: {error!r:.200}") from None

    def _take(self, found: dict[int, list[trace.Call]], words: Any) -> None:
        self.stated = bool(words["stated"])
        self.called, self.raised = (int(words["backend"][key]) for key in ("called", "raised"))
        self._aot = frozenset(words["aot"])
        self._calls: dict[tuple[str, int], list[trace.Call]] = defaultdict(list)
        self._kernels: dict[tuple[str, int], Counter] = {}
        self._lost = set(words["put_out"])
        for number, of, repetition in words["windows"]:
            if int(repetition) < 0:
                continue
            if number in found:
                self._calls[of, int(repetition)] += found[number]
            else:
                self._lost.add(of)
        for of, repetition, calls in words["kernels"]:
            if int(repetition) >= 0:
                self._kernels[of, int(repetition)] = Counter(
                    {str(name): int(times) for name, times in calls.items()}
                )

    def through_aot(self, of: str) -> bool:
        """Whether AOT autograd was at work."""
        return of in self._aot

    def blinded(self, of: str) -> bool:
        """Whether something ran in which nothing could be seen."""
        return of in self._lost

    def executed(self, of: str, on_purpose: Collection[str] = ()) -> Counter | None:
        """Operator → calls, and `inductor/KERNEL` → calls: of each the most of one repetition. None
        where nothing was watched, or not all of it could be seen."""
        repetitions = [key for key in {*self._calls, *self._kernels} if key[0] == of]
        if not repetitions or of in self._lost:
            return None
        most: Counter = Counter()
        for key in repetitions:
            most |= count(self._calls[key], on_purpose, self.through_aot(of)) + self._kernels.get(
                key, Counter()
            )
        return most


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
