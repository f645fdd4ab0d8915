"""The recording backend: it compiles nothing, and writes down each graph and its calls."""

import contextlib
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from . import compat, graph, replay, tensors, traced, worker
from .carried import MOST_LOOKED_AT, State
from .sources import place_of
from .spool import Full, Spool
from .steps import Ref, Unsayable
from .tensors import Unwritable

worker.load()

from lockstep_worker import applied  # noqa: E402  (its package is loaded above)

#: The most steps of a graph.
MOST_STEPS = 20_000
#: The most calls of a graph that are written down: those whose inputs have other shapes, or are
#: what the call before left.
MOST_CALLS = 8
#: Inputs of more bytes are not executed a second time to check what was written.
CHECKED_BYTES = 1 << 30


class Recorder:
    """A backend of `torch.compile`. `asked` is what the program asked for, as JSON; `as_if` is what
    is captured though the program does not compile it."""

    def __init__(self, spool: Spool, asked: dict, as_if: dict | None = None) -> None:
        self.spool, self.asked, self.as_if = spool, asked, as_if
        self.graphs = 0  # that it was given
        self.of: dict | None = None  # the place of what is compiled, if it is one
        self.regions: list[Region] = []

    def __call__(self, module: Any, inputs: Any, **_: Any) -> Any:
        self.graphs += 1
        try:
            if len(module.graph.nodes) > MOST_STEPS:
                raise Full(f"a graph of more than {MOST_STEPS} steps")
            return GraphRegion(self, module).call
        except Full as full:
            self.spool.say(None, str(full))
        except Exception as error:
            self.spool.say(None, _own(error))
        with contextlib.suppress(Exception):
            return compat.executable(module).forward
        return module.forward

    def ask(self, more: dict) -> None:
        """Notes that the program asks for something else than was known."""
        self.asked = {**self.asked, **more}
        for each in self.regions:
            each.json["asked"] = {**each.json["asked"], **more}
            each.put()

    def without_gradients(self) -> None:
        """Notes that what was captured is only asked for without gradients."""
        for each in self.regions:
            for call in each.json["calls"]:
                call["backward"] = {}
                for described in call["inputs"].values():
                    described.pop("requires_grad", None)
            each.put()


class Checked(NamedTuple):
    """What a call is checked against: the state of the generator when it began, and the ways to
    write it down, each a function of new inputs."""

    seed: Any
    candidates: list[Callable[[dict], graph.Written]]


class Region:
    """One program and what its calls have shown, on disk at once."""

    def __init__(self, recorder: Recorder, where: dict | None) -> None:
        self.recorder, self.spool = recorder, recorder.spool
        self.file = self.spool.begin()
        recorder.regions.append(self)
        self.seen: set[Any] = set()
        self.state = State()
        self.written: graph.Written | None = None
        self.drew = self.watched = self.may_draw = False  # watched: whether a call would have shown
        self.json: dict[str, Any] = {
            "asked": recorder.asked,
            "as_if": recorder.as_if,
            "where": where,
            "route": None,
            "draws": False,  # random numbers
            "program": None,
            "replay": None,
            "calls": [],
        }

    def put(self) -> None:
        # An operator that may draw draws nothing where it drops nothing.
        self.json["draws"] = self.drew or self.may_draw and not self.watched
        self.spool.write(self.file, self.json)

    def use(self, written: graph.Written) -> None:
        """Takes a program as what was captured, and says what is not in it."""
        for place, what in written.unsaid:
            self.spool.say(place or self.json["where"], what)
        self.json["route"] = written.route
        self.written = written
        self.may_draw = any(compat.draws(each) for each in _operators(written.steps))
        self.json["program"] = {
            "inputs": written.inputs,
            "steps": [_plain(step, self.spool) for step in written.steps],
            "outputs": [
                {"ref": each.name} if isinstance(each, Ref) else {"is": _constant(each)}
                for each in written.outputs
            ],
        }

    def begin(self, inputs: dict[str, torch.Tensor], key: Any = None) -> dict | None:
        """Notes a call with its inputs as they are before it; None where nothing is noted of it,
        because an earlier one had the same shapes, and it does not go on from where that ended."""
        repeats = key in self.seen
        if len(self.json["calls"]) >= MOST_CALLS:
            return None
        if repeats and self.state.looked_at >= MOST_LOOKED_AT:
            return None
        self.seen.add(key)
        try:
            with _undisturbed():
                carried = self.state.carried(inputs) if self.json["calls"] else {}
                if repeats and not self.state.goes_on(inputs, carried):
                    return None
                described = tensors.describe(inputs, self.spool)
                self.state.begin(inputs)
        except (Unwritable, Full) as error:
            self.spool.say(self.json["where"], f"it is given {error}")
            return None
        except Exception as error:
            self.spool.say(self.json["where"], _own(error))
            return None
        if not self.json["calls"]:
            config = _json_config(compat.changed_config())
            self.json["asked"] = {**self.recorder.asked, "config": config}
        noted = {
            "inputs": described,
            "context": _context(next(iter(described.values()), {}).get("device", "cpu")),
            "threads": torch.get_num_threads(),
            "raised": None,
            "written": [],
            "backward": {},
            "repeats": repeats,
            "carried": carried,
        }
        self.json["calls"].append(noted)
        self.put()
        return noted

    def raised(self, noted: dict, error: Exception) -> None:
        """Notes that a call raised what the program would have seen."""
        kind = type(error)
        module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        noted["raised"] = {"class": f"{module}{kind.__qualname__}", "message": str(error)[:500]}
        self.put()

    def returned(
        self, noted: dict, outputs: Sequence[Any], inputs: dict[str, torch.Tensor], found: Checked
    ) -> None:
        """Notes what a call returned and left of its inputs, and checks what is written against
        it."""
        try:
            with _undisturbed():
                noted["written"] = self.changed(noted, inputs)
                self.state.end(outputs, inputs, noted["written"])
                self.drew |= not torch.equal(found.seed, torch.get_rng_state())
                self.watched = all(each["device"] == "cpu" for each in noted["inputs"].values())
                if len(self.json["calls"]) == 1:
                    self.check(noted, outputs, inputs, found)
                elif self.written is not None and (
                    why := self.difference(self.written, noted, outputs, inputs, found.seed)
                ):
                    self.leave_out(noted, why)
                    return
        except Exception as error:
            self.json["replay"] = _own(error)
        self.put()
        for at, each in enumerate(outputs):
            if isinstance(each, torch.Tensor) and each.requires_grad:
                each.register_hook(self.on_gradient(noted, at))

    def leave_out(self, noted: dict, why: str) -> None:
        """Takes a call back that the program as it was written down does not make: it has sizes of
        the first one in it."""
        self.json["calls"].remove(noted)
        self.state = State()
        self.spool.say(self.json["where"], f"a later call is left out: {why}")
        self.put()

    def changed(self, noted: dict, inputs: dict[str, torch.Tensor]) -> list[str]:
        """The inputs that a call has written to."""
        before = noted["inputs"]
        after = tensors.describe(inputs, None)
        return [
            name
            for name, each in after.items()
            if each.get("digest") != before[before[name].get("view_of", name)].get("bytes")
            and "view_of" not in each
        ]

    def check(self, noted: dict, outputs: Sequence[Any], inputs: dict, found: Checked) -> None:
        """Takes the first of the programs that gives what the program gave; else the first."""
        first: tuple[graph.Written, str] | None = None
        reason: Unsayable | None = None
        for make in found.candidates:
            try:
                written = make(self.inputs_of(noted))
            except Unsayable as error:
                reason = reason or error
                continue
            except Exception as error:
                reason = reason or Unsayable(f"its execution is not repeated: {_own(error)}")
                continue
            why = self.difference(written, noted, outputs, inputs, found.seed)
            if why is None:
                self.use(written)
                return
            first = first or (written, why)
        if first is None:
            reason = reason or Unsayable("what it computes has a backward of its own")
            self.spool.say(reason.source or self.json["where"], str(reason))
            return
        self.use(first[0])
        self.json["replay"] = first[1]

    def difference(
        self, written: graph.Written, noted: dict, outputs: Sequence[Any], inputs: dict, seed: Any
    ) -> str | None:
        """Why the steps do not give what the program gave; None where they do, to the bit."""
        if sum(each.nbytes for each in inputs.values()) > CHECKED_BYTES:
            return None
        mine = self.inputs_of(noted)
        program = written.program()
        found = replay.replay(program, mine, noted["context"], seed)
        if isinstance(found, Exception):
            return f"its steps raise {type(found).__name__}: {_first_line(found)}"
        expected = [o for o, each in zip(outputs, written.outputs) if isinstance(each, Ref)]
        for name, its, given in zip(program["outputs"], expected, found, strict=True):
            if not tensors.same(given, its):
                return f"its steps give another {name} than the program"
            if getattr(given, "requires_grad", False) != getattr(its, "requires_grad", False):
                return f"its steps give a {name} that has other gradients than the program's"
        for name, its in inputs.items():
            if not tensors.same(mine[name], its):
                return f"its steps leave another {name} than the program"
        return None

    def inputs_of(self, noted: dict) -> dict[str, torch.Tensor]:
        """The inputs of a call, new."""
        made: dict[str, Any] = {}
        for name, described in noted["inputs"].items():
            data = b""
            if "bytes" in described:
                data = (self.spool.values / described["bytes"]).read_bytes()
            base = _flat(made[described["view_of"]]) if "view_of" in described else None
            made[name] = tensors.tensor_of(described, data, base)
        return made

    def on_gradient(self, noted: dict, at: int) -> Any:
        """A hook that notes the first gradient that reaches an output."""

        def hook(gradient: Any) -> None:
            if str(at) in noted["backward"] or not isinstance(gradient, torch.Tensor):
                return
            try:
                with _undisturbed():
                    described = tensors.describe({"gradient": gradient.detach()}, self.spool)
                    noted["backward"][str(at)] = described["gradient"]
                    self.put()
            except Exception as error:
                self.spool.say(self.json["where"], f"its backward: {_own(error)}")

        return hook


class GraphRegion(Region):
    """A graph that Dynamo handed over."""

    def __init__(self, recorder: Recorder, module: Any) -> None:
        super().__init__(recorder, _where(module) or recorder.of)
        self.module, self.inputs = module, graph.Inputs(module)
        self.executed = compat.executable(module)
        self.first: graph.Written | None = None
        self.why: Unsayable | None = None
        # Here its fake tensors are those of its own tracing; a call comes later.
        try:
            self.first = graph.write(module, self.inputs)
            self.use(self.first)
        except Unsayable as error:
            self.why = error
        except Exception as error:  # its execution may say it all the same
            self.why = Unsayable(_own(error))
        self.busy = threading.Lock()

    def call(self, *args: Any) -> Any:
        """What the graph computes, executed eagerly; the call is noted where it shows more than
        those before it."""
        if not self.busy.acquire(blocking=False):
            return self.executed.forward(*args)
        try:
            inputs = self.inputs.of(args)
            noted = self.begin(inputs, tensors.way_of(args))
            seed = torch.get_rng_state()
            try:
                outputs = self.executed.forward(*args)
            except Exception as error:
                if noted is None and not any(each["written"] for each in self.json["calls"]):
                    noted = self.begin(inputs, type(error))  # they are what they were before it
                if noted is not None:
                    self.raised(noted, error)
                raise
            if noted is not None:
                made = self.candidates(args, outputs)
                self.returned(noted, outputs, inputs, Checked(seed, made))
            return outputs
        finally:
            self.busy.release()

    def candidates(self, args: tuple, outputs: Any) -> list[Callable[[dict], graph.Written]]:
        """The ways to write the graph down: by its nodes, with operators or with the functions
        that the program calls; by its execution."""

        def by_nodes(operators: bool) -> Callable[[dict], graph.Written]:
            def make(_: dict) -> graph.Written:
                if self.why is not None:
                    raise self.why
                if operators and self.first is not None:
                    return self.first
                return graph.write(self.module, self.inputs, operators)

            return make

        def by_execution(trace: Callable, *more: Any) -> Callable[[dict], graph.Written]:
            def make(new: dict) -> graph.Written:
                given = iter(new.values())
                put = [next(given) if name else a for name, a in zip(self.inputs.names, args)]
                own = new | self.inputs.attributes
                grad = self.json["calls"][0]["context"].get("grad", True)
                with torch.set_grad_enabled(grad):
                    return trace(self.module, own, tuple(put), *more)

            return make

        targets = [node.target for node in self.module.graph.nodes]
        below = [by_execution(traced.below_graph)]
        if any(map(compat.is_higher_order, targets)) and _differentiable(outputs):
            below = []  # it may have a backward of its own, which operators do not tell
        of_nodes = [by_nodes(True), by_nodes(False)]
        if any(map(compat.is_transform, targets)):
            return [*of_nodes, *below]
        of_graph = [by_execution(traced.of_graph, each) for each in (True, False)]
        return [*of_nodes, *of_graph, *below]


def _differentiable(outputs: Any) -> bool:
    return any(getattr(each, "requires_grad", False) for each in outputs)


def _operators(steps: list[dict]) -> Iterator[str]:
    for step in steps:
        for inner in applied.inner(step):
            yield from _operators(inner)
        if "op" in step:
            yield step["op"]


def _flat(tensor: torch.Tensor) -> torch.Tensor:
    """The whole storage of a tensor."""
    count = tensor.untyped_storage().nbytes() // tensor.element_size()
    return tensor.detach().as_strided((count,), (1,), 0)


class _undisturbed:
    """While it lasts, nothing that is looked at is recorded, differentiated or traced; the
    program's random numbers stay as they are."""

    def __enter__(self) -> None:
        self.seed = torch.get_rng_state()
        self.modes = [torch.no_grad(), torch.autocast("cpu", enabled=False)]
        for mode in self.modes:
            mode.__enter__()

    def __exit__(self, *error: Any) -> None:
        for mode in reversed(self.modes):
            mode.__exit__(*error)
        torch.set_rng_state(self.seed)


def _context(device: str) -> dict:
    """The modes that are in force, as the context of a case; what torch begins with is left out."""
    found: dict[str, Any] = {}
    if not torch.is_grad_enabled():
        found["grad"] = False
    if torch.is_inference_mode_enabled():
        found["inference"] = True
    if torch.is_autocast_enabled(device):
        dtype = str(torch.get_autocast_dtype(device)).removeprefix("torch.")
        found["autocast"] = {"device": device, "dtype": dtype}
    if torch.are_deterministic_algorithms_enabled():
        found["deterministic_algorithms"] = True
    if torch.get_default_dtype() != torch.float32:
        found["default_dtype"] = str(torch.get_default_dtype()).removeprefix("torch.")
    return found


def _where(module: Any) -> dict | None:
    """Where in the user's source a graph begins."""
    traces = [
        node.meta.get("stack_trace")
        for node in module.graph.nodes
        if node.op not in ("placeholder", "output")
    ]
    own = (place_of(each, own_only=True) for each in traces)
    return next((each for each in own if each), None) or next(
        map(place_of, filter(None, traces)), None
    )


def _plain(value: Any, spool: Spool) -> Any:
    """A step as JSON; literal tensors as they are described."""
    if isinstance(value, torch.Tensor):
        return tensors.describe({"literal": value}, spool)["literal"]
    if isinstance(value, dict):
        return {key: _plain(each, spool) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each, spool) for each in value]
    return value


def _constant(value: Any) -> Any:
    """What a graph returns that is no tensor, as a case says it: None, or a number."""
    return value if isinstance(value, (bool, int, float)) else None


def _json_config(config: dict[str, Any]) -> dict[str, Any]:
    """Settings that a path file can say."""
    import json

    kept = {}
    for name, value in config.items():
        try:
            kept[name] = json.loads(json.dumps(value))
        except (TypeError, ValueError):
            continue
    return kept


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [""])[0][:300]


def _own(error: BaseException) -> str:
    """What went wrong in Lockstep itself, which must not end the program."""
    at = traceback.extract_tb(error.__traceback__)[-1] if error.__traceback__ else None
    place = f" ({at.name}, line {at.lineno})" if at else ""
    return f"Lockstep could not write it: {type(error).__name__}: {_first_line(error)}{place}"
