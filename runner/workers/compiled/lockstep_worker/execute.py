"""Executes one request in the process it is called in: eagerly first, then compiled, and describes
both. Forks nothing and ends nothing; `child.py` owns the process."""

import contextlib
import gc
import resource
import time
from collections.abc import Callable, Iterator

from . import errors
from .compat import dynamo, inductor
from .configure import apply_config, compiled, fall_back, import_modules
from .evidence import evidence, remembered
from .exported import Exported, Exporter, package
from .headers import warm_headers
from .held import Held
from .problems import Fault, Malformed, Unsupported, need
from .program import Executor, Program
from .proof import Watch, compile_phases, fallbacks
from .source import compile_text
from .tensors import Outputs
from .wire import Stages
from .witness import EAGER, PATH, Witness

#: What `run.mode` may be: everything, or as much of it as shows whether a path can be used here.
MODES = ("plain", "configure")


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
    outputs = Outputs(directory, Held(request.get("held"), digests))
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

    _put_in_force(request, path, program, stage)
    if path.get("export") == "aot_inductor":
        return _package(request, executor, path, function, scope, observation)
    if path.get("export") is not None:
        return _exported(executor, path, function, scope, reference, phases)
    return _compiled(executor, path, function, scope, reference, phases, afterwards)


def _put_in_force(request: dict, path: dict, program: Program, stage: Stages) -> None:
    """The settings of a path that compiles, and what they have precompiled."""
    stage("configure")
    config = path.get("config") or {}
    if not any(name.endswith(inductor.EAGER_RANDOM.removeprefix("torch._")) for name in config):
        apply_config({inductor.EAGER_RANDOM: True})
    if "torch.autograd.grad(" in program.source.text:
        dynamo.trace_gradients()
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
    reference: dict,
    phases: dict,
    afterwards: list[Callable[[], bool]],
) -> dict:
    """What the program does once it is compiled, with the proof that it was."""
    witness, stage = executor.witness, executor.stage
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
