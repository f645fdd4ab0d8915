"""torch.export and AOTInductor: what a program exports is captured, and executed eagerly where it
asks for a package. No package is written."""

import contextlib
import functools
import inspect
import os
import tempfile
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import compat, eager
from .recorder import Recorder
from .sources import place_of_code
from .tensors import same

#: Settings of AOTInductor that say where a package goes, and nothing of what it computes.
ABOUT_FILES = ("aot_inductor.package", "aot_inductor.output_path")


class Exports:
    """What stands in the place of torch.export and of AOTInductor. `run` executes a function or a
    module as if it were compiled; `asked` is what asks for its export, as JSON."""

    def __init__(self, spool: Any, run: Callable, asked: dict) -> None:
        self.spool, self.run, self.asked = spool, run, asked
        self._recorders: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._packages: dict[Any, Callable] = {}  # the file of a package → what it would compute
        self._held: list[Any] = []  # buffers that packages go to, so that no id is given twice

    def replacements(self, compiles: Callable) -> Iterator[tuple[Any, str, Callable]]:
        """Each function to replace: its owner, its name, and what stands in its place. `compiles`
        is called before any of them."""
        for owner, name in compat.exporting():
            original = getattr(owner, name)
            yield owner, name, self._instead(original, getattr(self, f"_{name}"), compiles)

    def _instead(self, original: Callable, own: Callable, compiles: Callable) -> Callable:
        @functools.wraps(original)
        def instead(*args: Any, **kwargs: Any) -> Any:
            compiles()
            return own(original, *args, **kwargs)

        return instead

    def _capture(self, function: Any, args: tuple, kwargs: dict) -> Recorder:
        """Captures one call, which leaves the tensors that it could write to as they are."""
        recorder = Recorder(self.spool, dict(self.asked))
        recorder.of = place_of_code(function)
        with _restored(list(eager.inputs_of(function, args, kwargs).values())):
            try:
                self.run(function, args, kwargs, recorder)
            except compat.dynamo_errors():
                eager.attempt(recorder, function, args, kwargs)
            except Exception:
                pass  # the export says so itself, or the program does later
        return recorder

    # torch.export ---------------------------------------------------------------------------------

    def _export(
        self, original: Callable, mod: Any, args: Any = (), kwargs: Any = None, **more: Any
    ) -> Any:
        recorder = self._capture(mod, tuple(args), dict(kwargs or {}))
        program = original(mod, args, kwargs, **more)
        self._recorders[program] = recorder
        return program

    # AOTInductor ----------------------------------------------------------------------------------

    def _aoti_compile_and_package(
        self, original: Callable, exported_program: Any, *args: Any, **kwargs: Any
    ) -> Any:
        example = getattr(exported_program, "example_inputs", None)
        if example is None:
            return original(exported_program, *args, **kwargs)  # raises what the program would see
        recorder = self._recorders.get(exported_program)
        if recorder is None:
            recorder = self._capture(exported_program.module(), *example)
        self._package(recorder, kwargs.get("inductor_configs"))
        return self._file(kwargs.get("package_path"), ".pt2", exported_program.module())

    def _load_package(self, original: Callable, path: Any, *args: Any, **kwargs: Any) -> Any:
        return self._packages.get(_key(path)) or original(path, *args, **kwargs)

    def _aot_compile(self, original: Callable, *args: Any, **kwargs: Any) -> Any:
        given = inspect.signature(original).bind(*args, **kwargs).arguments
        function = given["f"] if "f" in given else given["gm"]
        recorder = self._capture(function, tuple(given["args"]), dict(given.get("kwargs") or {}))
        self._package(recorder, given.get("options"))
        return self._file(None, ".so", function)

    def _aot_load(self, original: Callable, so_path: Any, *args: Any, **kwargs: Any) -> Any:
        return self._packages.get(_key(so_path)) or original(so_path, *args, **kwargs)

    def _package(self, recorder: Recorder, options: dict | None) -> None:
        """Has what was captured judged as a package."""
        own = {k: v for k, v in (options or {}).items() if not k.startswith(ABOUT_FILES)}
        recorder.ask({"export": "aot_inductor", "options": own})
        recorder.without_gradients()

    def _file(self, path: Any, ending: str, function: Callable) -> Any:
        """The file of a package that nobody writes."""
        if path is None:
            name = f"captured-{os.getpid()}-{len(self._packages)}{ending}"
            path = os.path.join(tempfile.gettempdir(), name)
        self._held.append(path)
        self._packages[_key(path)] = _without_gradients(function)
        return path


def _key(path: Any) -> Any:
    """What tells files of packages apart."""
    if isinstance(path, (str, os.PathLike)):
        return os.path.abspath(os.fspath(path))
    return id(path)


def _without_gradients(function: Callable) -> Callable:
    """A package computes without gradients."""

    def package(*args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            return function(*args, **kwargs)

    return package


@contextlib.contextmanager
def _restored(tensors: list[torch.Tensor]) -> Iterator[None]:
    """Afterwards the random numbers and these tensors, but parameters, are what they were."""
    seed = torch.get_rng_state()
    before = [(each, each.clone()) for each in tensors if not each.requires_grad]
    try:
        yield
    finally:
        torch.set_rng_state(seed)
        with torch.no_grad():
            for each, copy in before:
                if not same(each, copy):
                    each.copy_(copy)
