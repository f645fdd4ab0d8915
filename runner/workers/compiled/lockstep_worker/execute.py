"""Executes one request in the process it is called in: eagerly first, then compiled, and describes
both. Forks nothing and ends nothing; `child.py` owns the process."""

import contextlib
import gc
import importlib
import resource
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from . import contexts, errors, names
from .child import Stages
from .compat import device, dynamo, inductor, operators
from .evidence import evidence, remembered
from .exported import Exported, Exporter, package
from .known import Known
from .problems import Fault, Malformed, Unsupported, need
from .proof import Watch, compile_phases, fallbacks
from .source import Source, compile_text, generate
from .state import observe_state
from .tensors import Inputs, Outputs, is_view, literal_text
from .warmup import warm_headers
from .witness import EAGER, PATH, Witness

#: What `run.mode` may be: everything, or as much of it as shows whether a path can be used here.
MODES = ("plain", "configure")


class Program:
    """What a request says, decoded: the source, the inputs of each call, the backward."""

    def __init__(self, request: dict) -> None:
        program = need(request, "program", "run")
        self.inputs = Inputs(request.get("storages", []), request.get("device", "cpu"))
        self.calls = need(request, "calls", "run")
        self.repeat = int(request.get("repeat", 1))
        self.seed = int(request.get("seed", 0))
        self.reseed = bool(request.get("reseed", False))
        self.device = str(request.get("device", "cpu"))
        self.context = program.get("context") or {}
        list(contexts.lines(self.context))
        if not isinstance(self.calls, list) or not self.calls:
            raise Malformed("run.calls: a list with at least one call is expected")
        kinds = {
            name: "tensor"
            if all(is_view(self._given(call, name)) for call in self.calls)
            else "number"
            for name in need(program, "inputs", "program")
        }
        self.names = list(program["inputs"])
        self.source: Source = generate(program, lambda view: literal_text(view, self.inputs), kinds)
        self.backward = program.get("backward")
        if self.backward is not None:
            self._check_backward()

    def _given(self, call: dict, name: str) -> Any:
        return need(
            need(call, "inputs", "calls"), names.checked(name, "program.inputs"), "calls.inputs"
        )

    def _check_backward(self) -> None:
        of, seeds = need(self.backward, "of", "backward"), self.backward.get("with", "ones")
        if not isinstance(of, list) or any(name not in self.source.outputs for name in of):
            raise Malformed("backward.of: names of outputs are expected")
        if seeds != "ones" and (
            not isinstance(seeds, list)
            or len(seeds) != len(of)
            or any(name not in self.names for name in seeds)
        ):
            raise Malformed(
                'backward.with: "ones" or one name of an input for each of `of` is expected'
            )

    def seed_of(self, repetition: int, call: int) -> int:
        """What the generators are seeded with before a call: of each call another number, and with `reseed` of the last
        repetition others."""
        others = self.reseed and 0 < repetition == self.repeat - 1
        return self.seed + call + (len(self.calls) if others else 0)

    def arguments(self, call: dict) -> tuple[list, dict]:
        """Fresh values of the inputs of one call, and of the captured literals. What shares a
        storage shares one copy of it."""
        copies = self.inputs.fresh()
        values = [copies.value(self._given(call, name), f"input {name}") for name in self.names]
        captured = {
            name: copies.tensor(view, f"literal {name}")
            for name, view in self.source.captured.items()
        }
        return values, captured


class Executor:
    """Runs one callable through all repetitions and calls of a program, before a witness."""

    def __init__(self, program: Program, outputs: Outputs, stage: Stages, witness: Witness) -> None:
        self.program, self.outputs, self.stage, self.witness = program, outputs, stage, witness
        #: Inputs of the call under way; outputs and inputs of one whose backward is under way.
        self.given: list | None = None
        self.unfinished: tuple[list, list] | None = None

    def observe(self, function: Callable, scope: dict, reference: dict | None = None) -> dict:
        """The observation of `function`, without its process-wide parts. Raises `Malformed` and
        `Unsupported`; whatever the program raises becomes the observation."""
        program, at = self.program, 0
        runs: list[dict] = []
        self.outputs.keep(program.repeat * len(program.calls) > 1)
        try:
            for repetition in range(program.repeat):
                self.witness.repetition = repetition
                runs.append({"calls": []})
                for at, call in enumerate(program.calls):
                    left = self.call(function, scope, call, program.seed_of(repetition, at))
                    state = observe_state(program.device)
                    runs[-1]["calls"].append({**self.outputs.call(*left), "state": state})
                    del left
        except (Fault, Malformed, Unsupported):
            raise
        except BrokenPipeError:
            raise  # the runner is gone
        except BaseException as error:  # SystemExit, too: no program may end the process
            described = errors.describe(error, self.stage.last, (reference or {}).get("error"))
            self.stage.last = described["stage"]
            if self.unfinished is not None:
                with contextlib.suppress(Unsupported):
                    runs[-1]["calls"].append(self.outputs.call(*self.unfinished, []))
            after = {}
            if self.given is not None:
                with contextlib.suppress(Unsupported):
                    inputs = self.outputs.call([], self.given, [])["inputs"]
                    after = {
                        "after_error": {
                            "call": at,
                            "inputs": inputs,
                            "state": observe_state(program.device),
                        }
                    }
            self.outputs.read_again(runs)
            return {"outcome": "raised", "runs": runs, "error": described, "reason": None, **after}
        self.outputs.read_again(runs)
        return {"outcome": "returned", "runs": runs, "error": None, "reason": None}

    def call(
        self,
        function: Callable,
        scope: dict,
        call: dict,
        seed: int | None = None,
        change: Callable[[list], None] = lambda _: None,
    ) -> tuple[list, list, list]:
        """Outputs, inputs and gradients of one call by name, on fresh inputs that `change` may change before; the
        generators are seeded with `seed`, without one with that of the first call."""
        program, self.given, self.unfinished = self.program, None, None
        values, captured = program.arguments(call)
        change(values)
        named = list(zip(program.names, values))
        constants = program.source.constants
        scope.update(
            captured, **{constants[name]: value for name, value in named if name in constants}
        )
        arguments = [value for name, value in named if name not in constants]
        self.given = named
        torch.manual_seed(program.seed if seed is None else seed)
        with contexts.enter(program.context), self.witness.call():
            results = function(*arguments)
        by_name = dict(zip(program.source.outputs, results))
        grads: list = []
        if program.backward is not None:
            self.unfinished = list(by_name.items()), named
            with contexts.enter(program.context, only=contexts.BACKWARD):
                self._backward(by_name, dict(named), bool(program.backward.get("retain_graph")))
                if program.backward.get("twice"):
                    self._backward(by_name, dict(named), False)
            self.unfinished = None
            grads = [
                (name, value.grad)
                for name, value in named
                if isinstance(value, torch.Tensor) and value.requires_grad
            ]
        self.given = None
        return list(by_name.items()), named, grads

    def _backward(self, results: dict, inputs: dict, retain_graph: bool) -> None:
        backward = self.program.backward
        of = [results[name] for name in backward["of"]]
        seeds = backward.get("with", "ones")
        with_ = (
            [torch.ones_like(t) for t in of]
            if seeds == "ones"
            else [inputs[name] for name in seeds]
        )
        with self.witness.backward():
            torch.autograd.backward(of, with_, retain_graph=retain_graph)


def import_modules(modules: list | None) -> None:
    """Imports what a path asks for. Raises `Unsupported` where that fails."""
    if modules:
        device.abandon()
    for name in modules or []:
        if not isinstance(name, str) or not all(part.isidentifier() for part in name.split(".")):
            raise Malformed(f"path.import: {name!r:.80} is not a module")
        try:
            importlib.import_module(name)
        except Exception as error:
            raise Unsupported(f"cannot import {name}: {type(error).__name__}: {error}") from None
    device.adopt()


def apply_config(config: dict | None) -> None:
    """Sets configuration: full dotted name → value. Raises `Unsupported` for a name that this
    torch does not have, before anything is set."""
    patches = []
    for name, value in (config or {}).items():
        parts = name.split(".")
        if len(parts) < 2 or not all(part.isidentifier() for part in parts):
            raise Malformed(f"path.config: {name!r:.80} is not a dotted name")
        owner, at = None, 0
        # The longest prefix that is a module; what is left are its attributes.
        for at in range(len(parts) - 1, 0, -1):
            with contextlib.suppress(ImportError):
                owner = importlib.import_module(".".join(parts[:at]))
                break
        for part in parts[at:-1]:
            owner = getattr(owner, part, None)
        if owner is None or not hasattr(owner, parts[-1]):
            raise Unsupported(f"torch {torch.__version__} has no {name}")
        patches.append((owner, parts[-1], value))
    for owner, attribute, value in patches:
        try:
            setattr(owner, attribute, value)
        except Exception as error:
            raise Unsupported(f"cannot set {attribute} to {value!r:.80}: {error}") from None


def fall_back(written: list) -> None:
    """Has Inductor call torch's own kernels for some overloads (`aten::exp.default`). Raises `Unsupported` where this
    torch does not let it."""
    overloads = []
    for text in written:
        space, _, rest = str(text).partition("::")
        name, _, word = rest.partition(".")
        found = operators.overload(space, name, word or "default")
        if found is None:
            raise Unsupported(f"torch {torch.__version__} has no {text!s:.80}")
        overloads.append(found)
    try:
        inductor.fall_back(overloads)
    except (ImportError, AttributeError) as error:
        raise Unsupported(
            f"torch {torch.__version__} does not fall back on demand: {error}"
        ) from None


def compiled(path: dict, function: Callable) -> Callable:
    """`function` through `torch.compile` as a path wants it. Raises `Unsupported` for a backend,
    a mode or an option that this torch lacks."""
    backend = path["backend"]
    if backend not in torch.compiler.list_backends(exclude_tags=()):
        raise Unsupported(f"torch {torch.__version__} has no backend {backend!r:.80}")
    try:
        return torch.compile(
            function,
            backend=backend,
            mode=path.get("mode"),
            options=path.get("options"),
            dynamic=path.get("dynamic"),
            fullgraph=path.get("fullgraph", True),
        )
    except RuntimeError as error:
        raise Unsupported(str(error)) from None


def observe(
    request: dict,
    directory: str,
    stage: Stages,
    afterwards: list[Callable[[], bool]],
    digests: dict[str, str] | None = None,
) -> dict:
    """The observation of one `run`, ready to be written; its storages lie in `directory`. `stage`
    is told the stages and remembers the `last`. What may be asked once it is written, by calls that
    nobody's program made, is added to `afterwards`: each says whether it added to the observation.
    `digests` are the hello's. Raises `Malformed`."""
    outputs = Outputs(directory, Known(request.get("known"), digests))
    observation: dict = {
        "outcome": "unsupported",
        "runs": [],
        "reference": None,
        "error": None,
        "reason": None,
        "proof": {},
        "phases": {},
    }
    try:
        mode = request.get("mode", "plain")
        if mode not in MODES:
            raise Unsupported(f"this worker has no mode {mode!r:.40}")
        observation.update(
            _observe(request, outputs, stage, observation, afterwards)
            if mode == "plain"
            else _configure(request, outputs, stage)
        )
    except Unsupported as reason:
        observation.update(outcome="unsupported", reason=str(reason))
    return {
        **observation,
        "storages": outputs.storages,
        "stage": stage.last,
        "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _configure(request: dict, outputs: Outputs, stage: Stages) -> dict:
    """Puts a path's settings in force and calls nothing."""
    path = need(request, "path", "run")
    stage("configure")
    import_modules(path.get("import"))
    apply_config(path.get("config"))
    if path.get("backend") is not None:
        compiled(path, lambda: None)
    return {"outcome": "returned", "runs": [{"calls": [outputs.call((), [], [])]}]}


def _exported(
    executor: Executor, path: dict, function: Callable, scope: dict, reference: dict, phases: dict
) -> dict:
    """What the program does once it is exported, from Python."""
    program = Exported(Exporter(executor.program, path, function, scope), executor.stage)
    executor.witness.of = PATH
    start = time.perf_counter()
    result = executor.observe(program, scope, reference)
    phases["run"] = time.perf_counter() - start
    return {**result, "proof": {**program.proof(), **evidence(executor, path, function, scope, [])}}


def _package(
    request: dict,
    executor: Executor,
    path: dict,
    function: Callable,
    scope: dict,
    observation: dict,
) -> dict:
    """Leaves a package in place of results, which are those of whoever executes it."""
    phases = observation["phases"]

    @contextlib.contextmanager
    def timed(name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            phases[name] = time.perf_counter() - start

    returned = (
        observation["reference"]["error"] is None
    )  # of an operator that raised the trace does not tell
    known = (
        evidence(executor, {**path, "executes": "aten"}, function, scope, []) if returned else {}
    )
    try:
        proof = package(request, executor, path, function, scope, known, timed)
    except (BrokenPipeError, Fault, Malformed, Unsupported):
        raise
    except BaseException as error:  # SystemExit, too: no program may end the process
        described = errors.describe(
            error, executor.stage.last, observation["reference"].get("error")
        )
        # The program has returned, so whatever AOTInductor raises is its own.
        if executor.stage.last == "compile" and described["kind"] == "error" and returned:
            described.update(kind="internal", stage="compile")
        at_aot, executor.stage.last = executor.stage.last == "compile", described["stage"]
        return {
            "outcome": "raised",
            "error": described,
            "runs": [],
            "proof": {"graphs": 0, "through_aot": at_aot},
        }
    return {
        "outcome": "returned",
        "runs": [{"calls": [executor.outputs.call((), [], [])]}],
        "proof": proof,
    }


def _compile_for_threads(request: dict, config: dict) -> None:
    """Where the path does not say for how many: a torch without this setting takes what there is."""
    is_said = any(name.endswith(inductor.THREADS.removeprefix("torch._")) for name in config)
    if request.get("threads") and not is_said:
        with contextlib.suppress(Unsupported):
            apply_config({inductor.THREADS: int(request["threads"])})


def _observe(
    request: dict,
    outputs: Outputs,
    stage: Stages,
    observation: dict,
    afterwards: list[Callable[[], bool]],
) -> dict:
    path = need(request, "path", "run")
    phases = observation["phases"]
    is_compiled = path.get("backend") is not None or path.get("export") is not None
    stage("configure")
    if is_compiled or path.get("import"):
        # Before the program is read: a path can bring operators, devices and backends.
        import_modules(path.get("import"))
    apply_config(None if is_compiled else path.get("config"))
    stage("prepare")
    program = Program(request)
    with open(f"{outputs.directory}/program.py", "w", encoding="utf-8") as file:
        file.write(program.source.text)
    function, scope = compile_text(program.source.text, {})
    witness = Witness(outputs.directory)
    executor = Executor(program, outputs, stage, witness)

    stage("eager")
    start = time.perf_counter()
    witness.of = EAGER if is_compiled else ""
    reference = executor.observe(function, scope)
    phases["eager"] = time.perf_counter() - start
    if not is_compiled:
        return reference
    observation["reference"] = reference
    gc.collect()

    stage("configure")
    config = path.get("config") or {}
    if not any(name.endswith(inductor.EAGER_RANDOM.removeprefix("torch._")) for name in config):
        apply_config({inductor.EAGER_RANDOM: True})
    if "torch.autograd.grad(" in program.source.text:
        dynamo.trace_gradients()
    apply_config(config)
    _compile_for_threads(request, config)
    if path.get("fall_back"):
        fall_back(path["fall_back"])
    # Which settings change the C++ compiler's flags only torch knows: each set of them is warmed up.
    options = path.get("options") if path.get("backend") == "inductor" else None
    packages = path.get("export") == "aot_inductor"
    if (settings := inductor.settings_of(config, options)) or packages:
        warm_headers(settings, options, stage, packages)
    stage("configure")
    if packages:
        return _package(request, executor, path, function, scope, observation)
    if path.get("export") is not None:
        return _exported(executor, path, function, scope, reference, phases)
    watch = Watch()
    callable_ = compiled(path, function)
    witness.watch()
    witness.of = PATH
    dynamo.on_stages(stage)
    inductor.on_compile(lambda: stage("compile"))
    stage("trace")
    start = time.perf_counter()
    result = executor.observe(callable_, scope, reference)
    total = time.perf_counter() - start
    phases.update(compile_phases())
    phases["run"] = max(0.0, total - sum(phases[name] for name in ("trace", "lower", "compile")))
    proof = {**watch.proof(), "through_aot": witness.through_aot(PATH)}
    if result["outcome"] == "returned":  # of an operator that raised the trace does not tell
        last = stage.last
        proof.update(evidence(executor, path, function, scope, fallbacks(watch.code)))
        stage.last = last
        if path.get("executes") == "own":
            afterwards.append(
                lambda: bool(
                    proof.setdefault("remembered", remembered(executor, function, callable_, scope))
                )
            )
    return {**result, "proof": proof}
