"""One execution: the program is exported by torch.onnx, loaded by ONNX Runtime and run; what came
of it is written down."""

import contextlib
import functools
import json
import os
import resource
import time
from collections.abc import Callable

import onnxruntime
import torch
from program import Program, constant, literals_of
from tensors import (
    Malformed,
    Storages,
    Unsupported,
    Writer,
    content,
    from_runtime,
    is_view,
    to_runtime,
)

__all__ = ["Malformed", "execute", "warm"]

#: Errors by which the exporter says that it cannot take a program, by the name of their class.
REFUSALS = tuple(
    """
        DispatchError Unsupported UserError GuardOnDataDependentSymNode UnsupportedOperatorException
        NotImplementedError NotImplemented NotAModel
    """.split()
)


class NotAModel(Exception):
    """The program is one that no model of ONNX is."""


class Failed(Exception):
    """The program, or one of those who prepare it, raised: `described` is the observation's
    `error`."""

    def __init__(self, described: dict) -> None:
        super().__init__(described["message"])
        self.described = described


def translate(program: torch.export.ExportedProgram) -> bytes:
    """What torch.export has traced as a model of ONNX."""
    return torch.onnx.export(program, dynamo=True, verbose=False).model_proto.SerializeToString()


def load(model: bytes, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = (
        threads,
        1,
        4,
    )
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def warm() -> None:
    """Does what is done once. torch reads its table of translations anew for every export, which is
    half of the time: where it lets us, it is read once."""
    with contextlib.suppress(ImportError, AttributeError):
        from torch.onnx._internal.exporter._registration import ONNXRegistry

        ONNXRegistry.from_torchlib = staticmethod(functools.cache(ONNXRegistry.from_torchlib))

    class Relu(torch.nn.Module):
        def forward(self, x):
            return (torch.ops.aten.relu.default(x),)

    load(translate(torch.export.export(Relu().eval(), (torch.ones(2),), strict=False)), 1)


def original(error: BaseException) -> tuple[BaseException, list[str]]:
    """The error that began it, and the classes of those that were raised from it, outermost
    first."""
    wrapped = []
    while error.__cause__ is not None:
        wrapped.append(class_name(error))
        error = error.__cause__
    return error, wrapped


def class_name(error: BaseException) -> str:
    """As Python prints it: with its module, unless it is a builtin."""
    kind = type(error)
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


@contextlib.contextmanager
def step(name: str, tell: Callable[[str], None], phases: dict):
    """A stage: it is told, timed, and what it raises becomes `Failed`."""
    tell(name)
    start = time.perf_counter()
    try:
        yield
    except (Unsupported, Malformed):
        raise
    except Exception as raised:
        error, wrapped = original(raised)
        refused = name != "run" and type(error).__name__ in REFUSALS
        raise Failed(
            {
                "stage": name,
                "class": class_name(error),
                "message": str(error),
                "wrapped": wrapped,
                "kind": "refused"
                if refused
                else "error"
                if name in ("trace", "run")
                else "internal",
            }
        ) from None
    finally:
        phases[name] = phases.get(name, 0) + time.perf_counter() - start


def check(module: Program, tensors: dict) -> None:
    """A model writes to none of its inputs and returns tensors, each of them an array of its own:
    whether the program does so, eager tells. Raises `NotAModel`. What raises in eager is no matter
    of ours."""
    before = [content(tensor) for tensor in tensors.values()]
    try:
        results = module(*tensors.values())
    except Exception:
        return
    if [
        content(tensor) for tensor in tensors.values()
    ] != before:  # a version counter knows nothing of running averages
        raise NotAModel("the program writes to an input")
    taken = {tensor.untyped_storage()._cdata for tensor in tensors.values()}
    for result in results:
        if not isinstance(result, torch.Tensor):
            raise NotAModel("the program returns what is no tensor")
        if result.untyped_storage()._cdata in taken:
            raise NotAModel(
                "the program returns an input, a view of one, or two views of the same memory"
            )
        taken.add(result.untyped_storage()._cdata)


class Compiler:
    """Compiles a program once for each signature of its inputs, and executes it."""

    def __init__(
        self,
        request: dict,
        storages: Storages,
        threads: int,
        tell: Callable[[str], None],
        phases: dict,
    ) -> None:
        self.program, self.storages, self.threads, self.tell, self.phases = (
            request["program"],
            storages,
            threads,
            tell,
            phases,
        )
        self.sessions: dict[str, onnxruntime.InferenceSession] = {}

    def call(self, given: dict) -> tuple[dict, dict]:
        """Outputs and inputs of a call by name. Raises `Failed`, `Malformed` and `Unsupported`."""
        names = self.program["inputs"]
        views = {name: given[name] for name in names if is_view(given[name])}
        numbers = {name: plain(given[name]) for name in names if name not in views}
        literals = literals_of(self.program["steps"])
        signature = json.dumps(
            [numbers_key(numbers), [{**view, "offset": 0, "storage": 0} for view in views.values()]]
        )

        def fresh() -> dict:
            return self.storages.tensors(views)

        tensors = fresh()
        if signature not in self.sessions:
            made = list(self.storages.tensors(dict(enumerate(literals))).values())
            module = Program(self.program, list(views), numbers, made).eval()
            with step("trace", self.tell, self.phases), torch.no_grad():
                exported = torch.export.export(module, tuple(fresh().values()), strict=False)
            with step("lower", self.tell, self.phases), torch.no_grad():
                check(module, fresh())
                model = translate(exported)
            with step("compile", self.tell, self.phases):
                self.sessions[signature] = load(model, self.threads)
        session = self.sessions[signature]
        with step("run", self.tell, self.phases):
            feeds = {
                taken.name: to_runtime(tensor)
                for taken, tensor in zip(session.get_inputs(), tensors.values())
            }
            results = session.run_with_ort_values(None, feeds)
            outputs = dict(zip(self.program["outputs"], map(from_runtime, results)))
        return outputs, {name: tensors.get(name, numbers.get(name)) for name in names}


def plain(value):
    """An input that is no tensor."""
    if isinstance(value, list):
        return [plain(each) for each in value]
    return constant(*next(iter(value.items()))) if isinstance(value, dict) else value


def numbers_key(numbers: dict) -> list:
    return [repr(number) for number in numbers.values()]


def execute(request: dict, hello: dict, tell: Callable[[str], None]) -> None:
    """Executes a request and writes `observation.json`. Raises `Malformed`."""
    limits, threads = (
        hello.get("limits") or {},
        int(request.get("threads") or hello.get("threads") or 1),
    )
    for kind, key in ((resource.RLIMIT_AS, "memory_bytes"), (resource.RLIMIT_FSIZE, "file_bytes")):
        if limits.get(key):
            resource.setrlimit(kind, (limits[key], limits[key]))
    torch.set_num_threads(threads)
    writer = Writer(request["out"])
    phases: dict[str, float] = {}
    runs: list[dict] = []
    last = ["prepare"]

    def stage(name: str) -> None:
        if name != last[0]:
            tell(name)
        last[0] = name

    observation: dict = {
        "outcome": "returned",
        "runs": runs,
        "reference": None,
        "error": None,
        "reason": None,
        "phases": phases,
    }
    compiler = None
    try:
        if request.get("mode", "plain") != "plain":
            raise Unsupported(f"this worker has no mode {request['mode']!r:.40}")
        compiler = Compiler(request, Storages(request["storages"]), threads, stage, phases)
        for _ in range(request.get("repeat", 1)):
            runs.append({"calls": []})
            for call in request["calls"]:
                if call.get("context"):
                    raise Unsupported("a context of one call")
                runs[-1]["calls"].append(writer.call(*compiler.call(call["inputs"])))
    except Unsupported as reason:
        observation.update(outcome="unsupported", reason=str(reason))
    except Failed as failed:
        observation.update(outcome="raised", error=failed.described)
    except (KeyError, TypeError, ValueError) as error:
        raise Malformed(f"{type(error).__name__}: {error}") from error
    stage("write")
    observation.update(
        storages=writer.storages,
        stage=last[0],
        proof={"graphs": len(compiler.sessions) if compiler else 0},
        peak_memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )
    path = os.path.join(request["out"], "observation.json")
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(observation, file)
    os.rename(path + ".part", path)
