"""A program through torch.export, in the place of torch.compile: executed as it was exported, or
made into a package of AOTInductor's, which another process executes without Python (protocol.md,
"Packages")."""

import contextlib
import hashlib
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch

from . import contexts, errors
from .compat import export, inductor
from .problems import Unsupported
from .program import Program
from .proof import digest
from .tensors import is_view
from .wire import Stages

PACKAGE, DESCRIPTION = "package.pt2", "package.json"


class _Module(torch.nn.Module):
    """A program as torch.export takes it: the tensors that it closes over are buffers, which
    `function` is given before its arguments. It has no other state, for torch.export sets that
    back."""

    def __init__(self, function: Callable, closed_over: dict[str, torch.Tensor]) -> None:
        super().__init__()
        self.function = function
        for name, value in closed_over.items():
            self.register_buffer(name, value)

    def forward(self, *args: Any) -> tuple:
        return self.function(dict(self.named_buffers(remove_duplicate=False)), *args)


def _form(value: Any, tensors: list) -> Any:
    """The form of an output (docs/design/protocol.md), whose tensors are added to `tensors`. Raises
    `Unsupported` for a number."""
    if isinstance(value, torch.Tensor):
        tensors.append(value)
        return "tensor"
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return [_form(each, tensors) for each in value]
    raise Unsupported("a package of AOTInductor returns tensors alone, and an output is a number")


def _varying_sizes(name: str, inputs: list[dict]) -> list[int]:
    """Dimensions of an input whose size differs between calls. Raises `Unsupported`."""
    shapes = [each[name]["shape"] for each in inputs]
    if len({len(shape) for shape in shapes}) > 1:
        raise Unsupported(
            f"torch.export takes tensors of one rank, and that of `{name}` differs between calls"
        )
    return [at for at in range(len(shapes[0])) if len({shape[at] for shape in shapes}) > 1]


def varying(taken: list[str], inputs: list[dict], dynamic: bool | None) -> list[list[int] | bool]:
    """Of each input that a program takes, by what each call gives and the `dynamic` of a path: the
    dimensions whose size may vary, and of a number whether it may. Raises `Unsupported`."""
    found: list[list[int] | bool] = []
    for name in taken:
        given = [each[name] for each in inputs]
        if is_view(given[0]):
            differing = _varying_sizes(name, inputs)
            found.append(
                list(range(len(given[0]["shape"])))
                if dynamic
                else differing
                if dynamic is None
                else []
            )
        else:
            differs = len({json.dumps(value) for value in given}) > 1
            found.append(dynamic is not False and differs and type(given[0]) is int)
    return found


def example(taken: list[str], inputs: list[dict]) -> int:
    """The call to export with: torch.export takes a size of 0 or 1 for one that does not vary.
    Raises `Unsupported`."""
    differing = [
        (name, at)
        for name in taken
        if is_view(inputs[0][name])
        for at in _varying_sizes(name, inputs)
    ]
    return next(
        (
            at
            for at, each in enumerate(inputs)
            if all(each[name]["shape"][dim] > 1 for name, dim in differing)
        ),
        0,
    )


class Exporter:
    """Exports one program of a request, for all of its calls."""

    def __init__(self, program: Program, path: dict, function: Callable, scope: dict) -> None:
        self.program, self.path, self.function, self.scope = program, path, function, scope
        if program.source.beside:
            raise Unsupported("a path that exports has no steps beside the compiled ones")
        if program.carry:
            raise Unsupported("torch.export wants the sizes of all calls, and carries none over")
        if any({*(call.get("context") or {})} - {contexts.THREAD} for call in program.calls):
            raise Unsupported("torch.export takes one context for all calls")
        self.taken = [name for name in program.names if name not in program.source.constants]
        #: Global names of the source that stand for tensors.
        self.closed_over = [*program.source.constants.values(), *program.source.captured]

        self.inputs = [call["inputs"] for call in program.calls]

    def given(self, name: str) -> list:
        """What each call gives for an input, as the request has it."""
        return [inputs[name] for inputs in self.inputs]

    def dynamic_shapes(self) -> dict | None:
        """Which sizes and numbers may vary, as torch.export takes it; by the path's `dynamic`.
        Raises `Unsupported`."""
        return export.dynamic_shapes(varying(self.taken, self.inputs, self.path.get("dynamic")))

    def _arguments(self, call: dict) -> tuple[tuple, dict[str, torch.Tensor]]:
        """Fresh values that the program takes, and those that it closes over, by their global
        names."""
        values, closed_over = self.program.arguments(call)
        named = dict(zip(self.program.names, values))
        constants = self.program.source.constants
        closed_over = {**{constants[name]: named[name] for name in constants}, **closed_over}
        return tuple(named[name] for name in self.taken), closed_over

    def make(self, flat: bool) -> tuple[export.Program, list]:
        """The exported program, and the forms of its outputs where it is `flat`. Raises whatever
        torch.export raises."""
        args, closed_over = self._arguments(self.program.calls[example(self.taken, self.inputs)])
        forms: list = []

        def function(closed_over: dict, *args: Any) -> tuple:
            self.scope.update(closed_over)
            results = self.function(*args)
            if not flat:
                return results
            tensors: list = []
            forms[:] = [_form(result, tensors) for result in results]
            return tuple(tensors)

        return export.export(_Module(function, closed_over), args, self.dynamic_shapes()), forms

    def writes_to_what_it_closes_over(self, exported: export.Program) -> bool:
        """Whether the exported program does, which its signature does not tell: executed once."""
        args, closed_over = self._arguments(self.program.calls[0])
        if not closed_over:
            return False
        module = exported.module()
        _close_over(module, closed_over)
        before = [_bytes(value).clone() for value in closed_over.values()]
        _execute(module, args)
        return not all(
            torch.equal(then, _bytes(value)) for then, value in zip(before, closed_over.values())
        )

    def check_calls(self, exported: export.Program) -> None:
        """Executes every call as it was exported, and raises what that says of a call that it was
        not exported for: a package does not look at what it is given."""
        for name in self.taken:
            if len({json.dumps(_layout(given)) for given in self.given(name)}) > 1:
                raise Unsupported(
                    f"a package is made for one dtype and layout, and that of `{name}` differs "
                    "between calls"
                )
        module = exported.module()
        for call in self.program.calls:
            args, closed_over = self._arguments(call)
            _close_over(module, closed_over)
            _execute(module, args)


def _execute(module: torch.nn.Module, args: tuple) -> None:
    """Executes an exported program and raises what its guards say. What its operators raise does
    not matter here: it is the package that has to raise it, too."""
    try:
        module(*args)
    except Exception as error:
        if errors.of_a_guard(error):
            raise


def _close_over(module: torch.nn.Module, closed_over: dict[str, torch.Tensor]) -> None:
    """Gives an exported program the tensors that it closes over, by their global names."""
    for name, value in closed_over.items():
        setattr(module, name, value)


def _bytes(value: torch.Tensor) -> torch.Tensor:
    """The storage of a tensor."""
    storage = value.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _layout(given: Any) -> Any:
    """What of an input a package is made for, besides sizes."""
    if not is_view(given):
        return type(given).__name__
    order = sorted(range(len(given["shape"])), key=lambda at: (given["strides"][at], at))
    dense, size = True, 1
    for at in order:
        dense = dense and (given["shape"][at] == 1 or given["strides"][at] == size)
        size *= given["shape"][at]
    return [
        given["dtype"],
        bool(given.get("conj")),
        bool(given.get("neg")),
        order if dense else given["strides"],
    ]


class Exported:
    """A program that is exported when it is first called, and executed as it was exported."""

    def __init__(self, exporter: Exporter, stage: Stages) -> None:
        self._exporter, self._stage = exporter, stage
        self._module: Any = None
        self.program: export.Program | None = None

    def __call__(self, *args: Any) -> Any:
        scope = self._exporter.scope
        closed_over = {name: scope[name] for name in self._exporter.closed_over}
        if self._module is None:
            self._stage("trace")
            self.program, _ = self._exporter.make(flat=False)
            self._module = self.program.module()
            self._stage("run")
        _close_over(self._module, closed_over)
        return self._module(*args)

    def proof(self) -> dict:
        """The `proof` of an observation."""
        return proof(self.program) if self.program is not None else {"graphs": 0}


def proof(program: export.Program) -> dict:
    """What is known of any exported program: it is one graph."""
    return {
        "graphs": 1,
        "operators": export.operators(program),
        "frames": 1,
        "frames_skipped": 0,
        "breaks": [],
    }


# Packages -----------------------------------------------------------------------------------------


def _key(request: dict, program: Program) -> str:
    """Names a package by all that it is made from: the program, what is known of its inputs, what
    it closes over, the settings. Of the toolchain, the folder of the cache has the name."""
    path = {
        key: value
        for key, value in request["path"].items()
        if key not in ("name", "title", "default", "contract", "devices")
    }
    views = [call["inputs"][name] for call in program.calls for name in program.source.constants]
    views += program.source.captured.values()
    known = [
        request["program"],
        [call["inputs"] for call in program.calls],
        path,
        request.get("device"),
        request.get("threads"),
        program.source.text,
    ]
    hasher = hashlib.sha256(json.dumps(known, sort_keys=True).encode())
    for view in views:
        hasher.update(program.inputs.digest(view["storage"]))
    for file in (__file__, export.__file__):
        with open(file, "rb") as opened:
            hasher.update(hashlib.sha256(opened.read()).digest())
    return hasher.hexdigest()[:32]


def package(
    request: dict,
    program: Program,
    path: dict,
    function: Callable,
    scope: dict,
    stage: Stages,
    phases: Callable[[str], contextlib.AbstractContextManager],
) -> tuple[str, bool]:
    """Has the package of a program in the cache, made now or found there: its key, and whether it
    was found. Raises `Unsupported`, and whatever torch.export and AOTInductor raise."""
    key = _key(request, program)
    folder = _folder(key)
    found = os.path.isdir(folder)
    if not found:
        part = f"{folder}.{os.getpid()}.part"
        os.makedirs(part)
        try:
            _make(program, path, function, scope, part, stage, phases)
            with contextlib.suppress(OSError):  # somebody else was quicker
                os.rename(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return key, found


def leave(key: str, found: bool, known: dict, directory: str) -> dict:
    """Leaves a package of the cache, and the text that describes it, where the observation is to
    be. The `proof` of it, `known` added. Raises `OSError`."""
    folder = _folder(key)
    shutil.copyfile(os.path.join(folder, PACKAGE), os.path.join(directory, PACKAGE))
    with open(os.path.join(folder, DESCRIPTION), encoding="utf-8") as file:
        description = json.load(file)
    description["proof"].update(known, cache_hits=int(found), cache_misses=int(not found))
    _write(description, directory)
    return description["proof"]


def _cache() -> str:
    return os.environ["TORCHINDUCTOR_CACHE_DIR"]


def _folder(key: str) -> str:
    return os.path.join(_cache(), "packages", key)


def _write(description: dict, directory: str) -> None:
    with open(os.path.join(directory, DESCRIPTION), "w", encoding="utf-8") as file:
        json.dump(description, file)


def _make(
    program: Program,
    path: dict,
    function: Callable,
    scope: dict,
    directory: str,
    stage: Stages,
    phases: Callable[[str], contextlib.AbstractContextManager],
) -> None:
    exporter = Exporter(program, path, function, scope)
    for name in program.names:
        given = exporter.given(name)
        if name in program.source.constants or not is_view(given[0]):
            if len({_content(program, value) for value in given}) > 1:
                raise Unsupported(
                    f"a package takes tensors alone: `{name}` is compiled into it, and differs "
                    "between calls"
                )
    with torch.no_grad(), contexts.enter(program.context):
        stage("trace")
        with phases("trace"):
            exported, forms = exporter.make(flat=True)
            if len(program.calls) > 1:
                exporter.check_calls(exported)
        # Nothing can be compared then; but that the compiler fails over it, can be seen.
        written_inside = exporter.writes_to_what_it_closes_over(exported)
        inductor.reset_metrics()
        stage("compile")
        with phases("compile"):
            file = os.path.join(directory, PACKAGE)
            export.package(exported, file, _cache())
    if written_inside:
        raise Unsupported(
            "what a program writes to a tensor that it closes over stays inside of its package"
        )
    code = export.code(file)
    kernels, operators = export.called(code)
    executed = Counter([*(f"inductor/{name}" for name in kernels), *operators])
    # Its calls of torch's kernels go past the dispatcher: nobody can watch them.
    _write(
        {
            "format": 1,
            "inputs": [name for name in exporter.taken if is_view(exporter.given(name)[0])],
            "outputs": [
                {"name": name, "form": form} for name, form in zip(program.source.outputs, forms)
            ],
            "proof": {
                **proof(exported),
                "kernels": inductor.kernel_count(),
                "fallbacks": sorted({name.partition("::")[2] for name in operators}),
                "code": digest([code]),
                "execution": "stated",
                "executed": dict(executed),
                "foreign": {},
                "through_aot": True,
            },
        },
        directory,
    )


def _content(program: Program, value: Any) -> str:
    """An input as text that is equal where it is the same."""
    if not is_view(value):
        return json.dumps(value)
    return json.dumps({**value, "storage": program.inputs.digest(value["storage"]).hex()})


def warm_package(operator: Callable = torch.add) -> None:
    """Makes a package of an operator and forgets it: what Inductor precompiles for the first one is
    there then. Packages of one operator wait for each other."""

    class Two(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return operator(x, 2)

    folder = os.path.join(_cache(), f"warm-package.{os.getpid()}")
    os.makedirs(folder)
    try:
        with torch.no_grad():
            exported = export.export(Two(), (torch.ones(3),), None)
            export.package(exported, os.path.join(folder, PACKAGE), _cache())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
