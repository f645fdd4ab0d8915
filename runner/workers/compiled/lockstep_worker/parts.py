"""The parts of an execution, each in a process of its own (`cell.py`): the program as Python
executes it, as a path compiles it, and as torch's own backends do. What they give is handed over to
who started them and is believed no further than it can be checked."""

import contextlib
import gc
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import torch

from . import errors
from .cell import Inside
from .compat import dynamo, inductor
from .configure import apply_config, compiled, fall_back, import_modules
from .decoys import Given, storages_of
from .evidence import FALLBACKS
from .exported import Exported, Exporter, package
from .headers import warm_headers
from .held import Held
from .integrity import Integrity
from .lowering import RECORD, Calls
from .problems import Fault, Malformed, Unsupported, need
from .program import Executor, Program, Rehearsal, raised_result
from .proof import Watch, compile_phases, count, fallbacks
from .source import compile_text
from .tensors import Outputs, sizes_of
from .wire import Stages
from .witness import EAGER, PATH, Witness

_Made = TypeVar("_Made")
#: Kinds of devices that torch brings; others come with a path's modules.
_TORCHS_DEVICES = ("cpu", "cuda", "xpu", "mps")


class Part:
    """What every part has: the process as a request wants it, and what is handed over."""

    def __init__(self, request: dict, threads: int, digests: dict[str, str]) -> None:
        self.request, self.threads, self.digests = request, threads, digests

    def __call__(self, inside: Inside) -> dict:
        """Executes the part: its words. Raises `Malformed` and `Fault`."""
        # First of all: without it, autograd's first thread aborts in a forked child (2.15.0).
        torch.set_num_threads(self.threads)
        outputs = Outputs(inside.files["bytes"], Held(self.request.get("held"), self.digests))
        words: dict = {"phases": {}, "result": None}
        try:
            self.execute(inside, outputs, words)
        except Unsupported as reason:
            words["unsupported"] = str(reason)
        return {**words, "storages": outputs.storages, "stage": inside.stage.last}

    def execute(self, inside: Inside, outputs: Outputs, words: dict) -> None:
        """Adds to the words; `result` is an observation without its process-wide parts."""
        raise NotImplementedError

    @property
    def path(self) -> dict:
        """The path file of the request."""
        return need(self.request, "path", "run")

    def given(self, inside: Inside, known: set[int]) -> Given:
        """The inputs, of which `known` are in the file from the beginning."""
        sizes = sizes_of(self.request.get("storages", []))
        return Given(inside.files["inputs"], sizes, self.request, known)


def nothing(outputs: Outputs) -> dict:
    """The result of what returns and has no values."""
    runs = [{"calls": [outputs.call((), [], [])]}]
    return {"outcome": "returned", "runs": runs, "error": None, "reason": None}


def is_compiled(path: dict) -> bool:
    """Whether a path compiles programs."""
    return path.get("backend") is not None or path.get("export") is not None


def is_anothers(path: dict) -> bool:
    """Whether code that is not torch's may be at work on a path: it imports modules, or its backend
    is said to execute by itself. Such a path is on trial."""
    return bool(path.get("import")) or path.get("executes") == "own"


def _made(path: dict, program: Callable[[], _Made]) -> _Made:
    """What `program` makes; without the path's modules where it can."""
    try:
        return program()
    except Unsupported:
        if not path.get("import"):
            raise
        import_modules(path["import"])  # a path can bring operators, and devices
        return program()


class Configure(Part):
    """Puts a path's settings in force and calls nothing."""

    def execute(self, inside: Inside, outputs: Outputs, words: dict) -> None:
        """Adds the result."""
        inside.stage("configure")
        import_modules(self.path.get("import"))
        apply_config(self.path.get("config"))
        if self.path.get("backend") is not None:
            compiled(self.path, lambda: None)
        words["result"] = nothing(outputs)


class Eager(Part):
    """Executes the program as Python does: on a path that does not compile, and as what one that
    does is compared with, then without the path's modules where the program can do so."""

    def execute(self, inside: Inside, outputs: Outputs, words: dict) -> None:
        """Adds `source`, the result and what the witness saw."""
        path, reference = self.path, is_compiled(self.path)
        kind = str(self.request.get("device", "cpu")).partition(":")[0]
        inside.stage("configure")
        if not reference or kind not in _TORCHS_DEVICES:
            import_modules(path.get("import"))
        apply_config(None if reference else path.get("config"))
        inside.stage("prepare")
        program = _made(path, lambda: Program(self.request))
        words["source"] = program.source.text
        executor, function, scope = _executor(program, inside, outputs)
        witness = executor.witness
        inside.stage("eager")
        start = time.perf_counter()
        witness.of = EAGER if reference else ""
        words["result"] = executor.observe(function, scope)
        words["phases"]["eager"] = time.perf_counter() - start
        words["witness"] = witness.words()


class Lower(Part):
    """Executes the program once as Python does, and lowers its calls of what Python alone has."""

    def execute(self, inside: Inside, outputs: Outputs, words: dict) -> None:
        """Adds the result, and in it the program that has operators for them (lowering.py)."""
        inside.stage("prepare")

        def recorded() -> tuple[Calls, Program]:
            calls = Calls(need(self.request, "program", "run"))
            return calls, Program(self.request, call=calls.text)

        calls, program = _made(self.path, recorded)
        executor, function, scope = _executor(program, inside, outputs)
        scope[RECORD] = calls.record
        inside.stage("lower")
        with contextlib.suppress(Exception):  # what was lowered before it raised is of no use
            for at, call in enumerate(program.calls):
                executor.call(function, scope, call, program.seed_of(0, at))
        words["result"] = {**nothing(outputs), "lowered": calls.lowered()}


class Compiled(Part):
    """Executes the program as a path compiles it. `known` are the storages whose bytes it is given
    from the beginning; those of the others it gets when each call has been compiled."""

    def __init__(
        self, request: dict, threads: int, digests: dict[str, str], known: set[int]
    ) -> None:
        super().__init__(request, threads, digests)
        self.known = known

    def execute(self, inside: Inside, outputs: Outputs, words: dict) -> None:
        """Adds the result, `proof`, what the witness saw, and of a package its `package`; where it
        does not get through a call on decoys, that is the result and the `rehearsal`."""
        path, stage = self.path, inside.stage
        stage("configure")
        # Before anything that is not torch's has been imported.
        witness = Witness(inside.files["trace"])
        if path.get("export") is None:
            witness.watch()
            dynamo.on_lowering(stage)
            inductor.on_compile(lambda: count("lowered"))
            inductor.on_compile(lambda: stage("compile"))
        integrity = Integrity() if is_anothers(path) else None
        import_modules(path.get("import"))
        given = self.given(inside, self.known)
        executor, function, scope = _executor(
            Program(self.request, given), inside, outputs, witness
        )
        executor.wants_plain = True
        gc.collect()
        _put_in_force(self.request, path, executor.program, stage)
        try:
            if path.get("export") == "aot_inductor":
                _package(self.request, executor, function, scope, words, given)
            elif path.get("export") is not None:
                _exported(executor, path, function, scope, words, inside, given)
            else:
                _compiled(executor, path, function, scope, words, inside, given)
        except Rehearsal as raised:
            result = raised_result(raised.error, raised.otherwise, [])
            words["rehearsal"] = words["result"] = result
        words["changed"] = integrity.changed() if integrity else []


class Traces(Part):
    """Executes the program through backends of torch's own, for what they execute."""

    def __init__(self, request: dict, threads: int, names: list[str]) -> None:
        super().__init__(request, threads, {})
        self.names = names

    def execute(self, inside: Inside, outputs: Outputs, words: dict) -> None:
        """Adds what the witness saw, by the names of `FALLBACKS`."""
        program = _made(self.path, lambda: Program(self.request))
        executor, function, scope = _executor(program, inside, outputs)
        witness = executor.witness
        _trace_gradients(program)
        apply_config({inductor.EAGER_RANDOM: True})
        witness.watch()
        words["returned"] = []
        for name in self.names:
            dynamo.reset()
            witness.of = name
            with contextlib.suppress(Exception):
                function_ = _through(FALLBACKS[name], self.path, function)
                for witness.repetition in range(2):
                    for call in program.calls:
                        executor.call(function_, scope, call)
                words["returned"].append(name)
        words["witness"] = witness.words()


class OnDecoys(Part):
    """Executes each call of the program once as Python does, on the decoys that a path was given:
    who raises on those where Python does not has raised on his own account."""

    def __init__(self, request: dict, threads: int, known: set[int]) -> None:
        super().__init__(request, threads, {})
        self.known = known

    def execute(self, inside: Inside, outputs: Outputs, words: dict) -> None:
        """Adds whether it `returned`."""
        inside.stage("eager")
        given = self.given(inside, self.known)
        program = _made(self.path, lambda: Program(self.request, given))
        executor, function, scope = _executor(program, inside, outputs)
        words["returned"] = False
        with contextlib.suppress(Exception):
            for at, call in enumerate(program.calls):
                executor.call(function, scope, call, program.seed_of(0, at))
            words["returned"] = True


class Control(Part):
    """Has Dynamo, as torch has it, trace the program for a backend that compiles nothing: what that
    raises is nobody's whose backend is on trial."""

    def execute(self, inside: Inside, outputs: Outputs, words: dict) -> None:
        """Adds the result."""
        program = _made(self.path, lambda: Program(self.request))
        executor, function, scope = _executor(program, inside, outputs)
        _trace_gradients(executor.program)
        inside.stage("trace")
        words["result"] = executor.observe(_through("eager", self.path, function), scope)


def _executor(
    program: Program, inside: Inside, outputs: Outputs, witness: Witness | None = None
) -> tuple[Executor, Callable, dict]:
    """What executes a program before a witness, the program as a function, and its globals."""
    function, scope = compile_text(program.source.text, {})
    witness = witness or Witness(inside.files["trace"])
    return Executor(program, outputs, inside.stage, witness), function, scope


def _trace_gradients(program: Program) -> None:
    """Lets Dynamo trace what it refuses otherwise, where the program has it."""
    if "torch.autograd.grad(" in program.source.text:
        dynamo.trace_gradients()


def _through(backend: str, path: dict, function: Callable) -> Callable:
    return torch.compile(
        function,
        backend=backend,
        dynamic=path.get("dynamic"),
        fullgraph=path.get("fullgraph", True),
    )


class _Handing:
    """Has each call of a compiled program rehearsed on decoys, by which it is compiled, before its
    inputs are asked for. On a path on trial the last repetition is watched from outside, too."""

    def __init__(
        self,
        inside: Inside,
        given: Given,
        executor: Executor,
        function: Callable,
        scope: dict,
        on_trial: bool,
    ) -> None:
        self._inside, self._given, self._executor = inside, given, executor
        self._function, self._scope = function, scope
        #: Whether something was compiled when real inputs were there.
        self.known = False
        self._on_trial = on_trial
        self._asked, self._compilations = False, 0

    def before(self, repetition: int, call: int) -> None:
        """Hands over what is due. Raises `Rehearsal`."""
        program = self._executor.program
        hidden = self._given.hides(call)
        self._executor.witness.inputs_there = not hidden
        if hidden:
            self._executor.witness.repetition = -1
            try:
                self._executor.call(
                    self._function,
                    self._scope,
                    program.calls[call],
                    program.seed_of(0, call),
                    rehearses=True,
                )
            except (BrokenPipeError, Fault, Malformed):
                raise
            except BaseException as error:
                raise _rehearsal(error, self._executor.stage) from None
        self._asked = hidden or self._on_trial and repetition == program.repeat - 1
        if self._asked:
            self._inside.ask(call)
            self._given.give(call)
        self._executor.witness.inputs_there = True
        self._compilations = len(dynamo.records())

    def after(self, repetition: int, call: int) -> bool:
        """Says that a call is over."""
        if self._asked:
            self._inside.called(call)
        compiled = len(dynamo.records()) > self._compilations
        self.known = self.known or compiled
        return compiled


def _rehearsal(error: BaseException, stage: Stages) -> Rehearsal:
    described, otherwise = errors.descriptions(error, stage.last)
    stage.last = described["stage"]
    return Rehearsal(described, otherwise)


def _put_in_force(request: dict, path: dict, program: Program, stage: Stages) -> None:
    """The settings of a path that compiles, and what they have precompiled."""
    stage("configure")
    config = path.get("config") or {}
    if not any(name.endswith(inductor.EAGER_RANDOM.removeprefix("torch._")) for name in config):
        apply_config({inductor.EAGER_RANDOM: True})
    _trace_gradients(program)
    apply_config(config)
    if request.get("threads") and not any(
        name.endswith(inductor.THREADS.removeprefix("torch._")) for name in config
    ):
        with contextlib.suppress(
            Unsupported
        ):  # a torch without this setting compiles for those that there are
            apply_config({inductor.THREADS: int(request["threads"])})
    if path.get("fall_back"):
        fall_back(path["fall_back"])
    # Which settings change the C++ compiler's flags only torch knows: each set of them is warmed
    # up.
    options = path.get("options") if path.get("backend") == "inductor" else None
    packages = path.get("export") == "aot_inductor"
    if (settings := inductor.settings_of(config, options)) or packages:
        warm_headers(settings, options, stage, packages)
    stage("configure")


def _compiled(
    executor: Executor,
    path: dict,
    function: Callable,
    scope: dict,
    words: dict,
    inside: Inside,
    given: Given,
) -> None:
    """What the program does once it is compiled, with the proof that it was."""
    witness, stage, phases = executor.witness, executor.stage, words["phases"]
    watch = Watch()
    callable_ = compiled(path, function)
    witness.of = PATH
    dynamo.on_compilations(stage)
    stage("trace")
    handing = _Handing(inside, given, executor, callable_, scope, is_anothers(path))
    start = time.perf_counter()
    try:
        words["result"] = executor.observe(callable_, scope, handing)
    finally:
        words["proof"] = watch.proof()
        words["witness"] = witness.words()
    total = time.perf_counter() - start
    phases.update(compile_phases())
    phases["run"] = max(0.0, total - sum(phases[name] for name in ("trace", "lower", "compile")))
    words["fallbacks"] = fallbacks(watch.code)
    words["compiled_on_known"] = handing.known


def _exported(
    executor: Executor,
    path: dict,
    function: Callable,
    scope: dict,
    words: dict,
    inside: Inside,
    given: Given,
) -> None:
    """What the program does once it is exported, from Python."""
    program = Exported(Exporter(executor.program, path, function, scope), executor.stage)
    executor.witness.of = PATH
    handing = _Handing(inside, given, executor, program, scope, is_anothers(path))
    start = time.perf_counter()
    try:
        words["result"] = executor.observe(program, scope, handing)
    finally:
        words["proof"] = program.proof()
        words["witness"] = executor.witness.words()
    words["phases"]["run"] = time.perf_counter() - start


def _package(
    request: dict, executor: Executor, function: Callable, scope: dict, words: dict, given: Given
) -> None:
    """Makes a package in place of results, which are those of whoever executes it."""

    @contextlib.contextmanager
    def timed(name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            words["phases"][name] = time.perf_counter() - start

    stage, program = executor.stage, executor.program
    count("lowered")
    try:
        key, found = package(request, program, request["path"], function, scope, stage, timed)
        if not found:
            count("packaged")
    except (BrokenPipeError, Fault, Malformed, Unsupported):
        raise
    except BaseException as error:  # SystemExit, too: no program may end the process
        if any(given.hides(call) for call in range(len(program.calls))):
            raise _rehearsal(error, stage) from None
        described, otherwise = errors.descriptions(error, stage.last)
        words["proof"] = {"graphs": 0, "through_aot": stage.last == "compile"}
        stage.last = described["stage"]
        words["result"] = raised_result(described, otherwise, [])
        return
    words["package"] = [key, found]
    words["result"] = nothing(executor.outputs)


def storages_known(request: dict) -> set[int]:
    """The storages whose bytes a compiler has to have: those of a program's literals, and what
    becomes a part of the compiled program."""
    program, path = need(request, "program", "run"), need(request, "path", "run")
    settings = {**(path.get("config") or {}), **(path.get("options") or {})}
    known, calls = storages_of(program), request["calls"]
    if any(name.rpartition(".")[2] == "freezing" and value for name, value in settings.items()):
        return known | storages_of(calls)
    if path.get("export") == "aot_inductor":
        constants = program.get("constants") or []
        known |= storages_of([[call["inputs"].get(name) for name in constants] for call in calls])
    return known
