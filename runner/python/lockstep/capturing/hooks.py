"""The recording backend in the place of whatever a program asks to compile with."""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from . import compat, eager
from .exports import Exports
from .recorder import Recorder
from .sources import place_of_code
from .spool import Spool

#: How many outermost calls of modules are captured in a program that compiles nothing.
MOST_AS_IF = 16


class Hooks:
    """Puts the recording backend into torch until `remove`. `as_if` also captures the outermost
    modules that are called before anything is compiled, and the functions that `outermost` is
    given."""

    def __init__(self, spool: Spool, as_if: bool = True, asked: dict | None = None) -> None:
        """`asked`: the arguments of `torch.compile` for what nobody compiled."""
        self.spool, self.as_asked = spool, asked or {}
        self.asked_for_any = False
        self._before: list[tuple[Any, str, Any]] = []
        self._modules = compat.ModuleCalls(self._module) if as_if else None
        self._calls: dict[Any, Callable] = {}
        self._as_if_calls = 0
        self._inside = False  # an outermost function is running

    def install(self) -> None:
        """Begins."""
        owner = compat.optimize_owner()
        self._replace(torch, "compile", self._compile(torch.compile))
        self._replace(owner, "optimize", self._optimize(owner.optimize))
        asked = {**asked_of({}), "backend": None, "export": "eager"}
        exports = Exports(self.spool, self._run_whole, asked)
        for each, name, instead in list(exports.replacements(self._compiles)):
            self._replace(each, name, instead)
        if self._modules is not None:
            self._modules.begin()

    def remove(self) -> None:
        """Leaves torch as it was."""
        if self._modules is not None:
            self._modules.end()
        for owner, name, before in reversed(self._before):
            setattr(owner, name, before)
        self._before = []

    def _replace(self, owner: Any, name: str, instead: Any) -> None:
        self._before.append((owner, name, getattr(owner, name)))
        setattr(owner, name, instead)

    def _compiles(self) -> None:
        """The program compiles something itself: nothing is captured as if it did."""
        self.asked_for_any = True
        if self._modules is not None:
            self._modules.end()
            self._modules = None

    # What programs ask for ------------------------------------------------------------------------

    def _compile(self, original: Callable) -> Callable:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def compile(model: Any = None, **kwargs: Any) -> Any:
            given = signature.bind(model, **kwargs)
            if given.arguments.get("disable"):
                return original(model, **kwargs)
            self._compiles()
            asked = asked_of(given.arguments)
            kwargs.pop("mode", None)
            kwargs.pop("options", None)
            if asked["refused"] and isinstance(given.arguments.get("backend"), str):
                return original(model, **kwargs)  # raises what the program would see
            recorder = Recorder(self.spool, asked)
            kwargs["backend"] = recorder

            def compiled(function: Any) -> Any:
                own = _own(function)
                recorder.of = place_of_code(own)
                return self._watched(original(own, **kwargs), own, recorder)

            return compiled if model is None else compiled(model)

        return compile

    def _watched(self, compiled: Any, own: Any, recorder: Recorder) -> Any:
        """What `torch.compile` returns, with an eye on calls that Dynamo fails on."""
        is_module = isinstance(compiled, torch.nn.Module)
        call = compiled.forward if is_module else compiled
        if not callable(call) or isinstance(call, type):
            return compiled

        @functools.wraps(call)
        def watched(*args: Any, **kwargs: Any) -> Any:
            before = recorder.graphs
            try:
                result = call(*args, **kwargs)
            except compat.dynamo_errors():
                if recorder.graphs == before:
                    eager.attempt(recorder, own, args, kwargs)
                raise
            if recorder.graphs == 0:
                recorder.graphs = 1  # said once
                self.spool.say(place_of_code(own), "Dynamo hands over no graph of it")
            return result

        if not is_module:
            return watched
        compiled.forward = watched
        return compiled

    def _optimize(self, original: Callable) -> Callable:
        @functools.wraps(original)
        def optimize(backend: Any = "inductor", *args: Any, **kwargs: Any) -> Any:
            inner = getattr(backend, "compiler_fn", backend)
            if not isinstance(inner, Recorder):
                self._compiles()
                asked = asked_of({"backend": backend, "dynamic": kwargs.get("dynamic")})
                asked["fullgraph"] = bool(kwargs.get("nopython"))
                backend = Recorder(self.spool, asked)
            return original(backend, *args, **kwargs)

        return optimize

    def run(self, function: Any, args: tuple, kwargs: dict, asked: dict, as_if: Any) -> Any:
        """Executes a function or a module as if it were compiled, and captures its graphs."""
        key = (id(function), str(asked))
        if key not in self._calls:
            recorder = Recorder(self.spool, asked, as_if)
            self._calls[key] = self._real_compile()(function, backend=recorder)
        with compat.forgiving(), self._no_modules():
            return self._calls[key](*args, **kwargs)

    def _run_whole(self, function: Any, args: tuple, kwargs: dict, recorder: Recorder) -> Any:
        """The same of what is one graph; raises what Dynamo raises."""
        compiled = self._real_compile()(function, backend=recorder, fullgraph=True)
        with self._no_modules():
            return compiled(*args, **kwargs)

    def _real_compile(self) -> Callable:
        replaced = (before for owner, name, before in self._before if owner is torch)
        return next(replaced, torch.compile)

    @contextlib.contextmanager
    def _no_modules(self) -> Iterator[None]:
        """While it lasts, no call of a module is captured."""
        modules, self._modules = self._modules, None
        if modules is not None:
            modules.end()
        try:
            yield
        finally:
            if modules is not None and not self.asked_for_any:
                self._modules = modules
                modules.begin()

    # Modules of a program that compiles nothing ---------------------------------------------------

    def _module(self, module: Any, forward: Callable, args: tuple, kwargs: dict) -> Any:
        if self._as_if_calls >= MOST_AS_IF or isinstance(module, torch.fx.GraphModule):
            with self._no_modules():
                return forward(*args, **kwargs)
        self._as_if_calls += 1
        return self.run(module, args, kwargs, asked_of(self.as_asked), place_of_code(module))

    def outermost(self, function: Callable) -> Callable:
        """A function of the program, whose outermost calls with tensors are captured as if it were
        compiled."""

        @functools.wraps(function)
        def outermost(*args: Any, **kwargs: Any) -> Any:
            tensors = any(isinstance(each, torch.Tensor) for each in tree_leaves((args, kwargs)))
            if self._inside or self.asked_for_any or not tensors:
                return function(*args, **kwargs)
            self._inside = True
            try:
                place = place_of_code(function)
                return self.run(function, args, kwargs, asked_of(self.as_asked), place)
            finally:
                self._inside = False

        return outermost


def _own(function: Any) -> Any:
    """The program's function in the place of what `outermost` made of it."""
    wrapped = getattr(function, "__wrapped__", None)
    code = getattr(function, "__code__", None)
    return wrapped if wrapped is not None and code and code.co_name == "outermost" else function


def asked_of(arguments: dict) -> dict:
    """What a program asked of `torch.compile`, as JSON. `refused` says why no path can be made of
    it."""
    backend = arguments.get("backend") or "inductor"
    found: dict[str, Any] = {
        "mode": arguments.get("mode"),
        "dynamic": arguments.get("dynamic"),
        "fullgraph": bool(arguments.get("fullgraph")),
        "options": {},
        "export": None,
        "refused": None,
    }
    for key, value in (arguments.get("options") or {}).items():
        if isinstance(value, (bool, int, float, str)) or value is None:
            found["options"][key] = value
        else:
            found["refused"] = f"its option {key} is a {type(value).__name__}"
    if isinstance(backend, str):
        found["backend"] = backend
        found["refused"] = found["refused"] or (
            compat.resolved(backend) if backend != "inductor" else None
        )
        return found
    found["backend"] = compat.registered_name(backend)
    if found["backend"] is None:
        word = getattr(backend, "__qualname__", None) or type(backend).__name__
        found["refused"] = (
            f"its backend {word} has no name: register it with torch._dynamo.register_backend in a "
            "module, and name it in a path file"
        )
    return found
