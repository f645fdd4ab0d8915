"""One request, executed: its parts are started one after the other, each in a process of its own,
and what they hand over becomes the observation. Here nothing of a path's is imported and nothing is
executed; `child.py` owns this process."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from . import errors, exported
from .cell import Cell, Lost, copy, places
from .decoys import given_storages, storages_of
from .evidence import evidence
from .handed import Handed
from .parts import (
    Compiled,
    Configure,
    Control,
    Eager,
    Lower,
    OnDecoys,
    Part,
    Traces,
    is_anothers,
    is_compiled,
    storages_known,
)
from .problems import Malformed, Unsupported, need
from .processes import Started, adopt_orphans
from .tensors import sizes_of
from .wire import Stages
from .witness import EAGER, Testimony

#: What of a proof the accused says itself: what Dynamo and Inductor counted (proof.py).
SAID = frozenset(
    """
        graphs operators frames kernels fallbacks code breaks recompiles recompile_reasons
        recompile_limit frames_skipped cache_hits cache_misses
    """.split()
)
#: How names of what is watched begin that is not Lockstep's (integrity.py).
NOT_OURS = ("torch.", "time.", "ExecutionTraceObserver", "OpOverload", "Dynamo")
#: What a witness that saw nothing would say.
NOBODY = {
    "windows": [],
    "kernels": [],
    "aot": [],
    "put_out": [],
    "stated": False,
    "backend": {"called": 0, "raised": 0},
}
#: What `run.mode` may be: everything, as much of it as shows whether a path can be used here, or
#: the program with operators in the place of public functions.
MODES = ("plain", "configure", "lower")


def observe(request: dict, directory: str, stage: Stages, hello: dict) -> dict:
    """The observation of one `run`, ready to be written; its storages lie in `directory`. `stage`
    is told the stages and remembers the `last`. Raises `Malformed` and `Fault`, and `Lost` where a
    process ended in a way of its own."""
    observation: dict = {
        "outcome": "unsupported",
        "runs": [],
        "reference": None,
        "error": None,
        "reason": None,
        "proof": {},
        "phases": {},
    }
    execution = Execution(request, directory, stage, hello)
    try:
        mode = request.get("mode", "plain")
        if mode not in MODES:
            raise Unsupported(f"this worker has no mode {mode!r:.40}")
        if mode == "configure":
            observation |= execution.alone(Configure)
        elif mode == "lower":
            observation |= execution.alone(Lower)
        elif is_compiled(need(request, "path", "run")):
            execution.compiled(observation)
        else:
            observation |= execution.alone(Eager)
    except Unsupported as reason:
        observation |= {"outcome": "unsupported", "reason": str(reason)}
    return {
        **observation,
        "storages": execution.handed.storages,
        "stage": stage.last,
        "peak_memory_bytes": execution.peak_memory_bytes,
    }


def path_is_watched(request: dict, hello: dict) -> bool:
    """Whether what the backend of a path returns is watched whenever it is called."""
    return bool(hello.get("watches", True)) and request["path"].get("export") is None


class Execution:
    """The parts of one request."""

    def __init__(self, request: dict, directory: str, stage: Stages, hello: dict) -> None:
        self._threads = int(request.get("threads") or hello.get("threads") or 1)
        # A compiler is told, too, and what it keeps is kept for that many.
        self.request = {**request, "threads": self._threads} if self._threads > 1 else request
        self.directory, self.stage = directory, stage
        self.handed = Handed(directory)
        self.peak_memory_bytes = 0
        self._digests: dict[str, str] = hello.get("digests") or {}
        self._watches = path_is_watched(request, hello)
        self._hidden = [str(folder) for folder in hello.get("hidden") or []]

    def alone(self, kind: type[Part]) -> dict:
        """The observation by a part that is all there is."""
        with self._started(kind(self.request, self._threads, self._digests)) as cell:
            words = self._finish(cell)
            result = self._result(cell, words)
            return {**result, "phases": words["phases"]}

    def compiled(self, observation: dict) -> None:
        """Adds to the observation on a path that compiles: the accused has no memory, no file and
        no process in common with who is right."""
        known = storages_known(self.request)
        everything = storages_of(self.request["calls"]) | known
        if not self.request.get("decoys"):
            known = everything
        with ExitStack() as stack:
            # Before anything is executed, so that it inherits none of what that leaves.
            accused = stack.enter_context(self._accused(known))
            eager = self._eager(observation)
            if observation["reference"]["outcome"] == "raised" and known != everything:
                # Of decoys an error says nothing, and none of it may be for want of values.
                stack.close()  # else it would pass for a process that the next one has started
                accused, known = stack.enter_context(self._accused(everything)), everything
            handing = Handing(self.request, accused, known)
            lost: Lost | None = None
            try:
                words = self._finish(accused, handing)
            except Lost as ended:
                if handing.all_given or known == everything:
                    raise
                words, lost = {}, ended
            if (lost or "rehearsal" in words) and not self._stands(known):
                stack.close()
                lost, accused = None, stack.enter_context(self._accused(everything))
                handing = Handing(self.request, accused, everything)
                words = self._finish(accused, handing)
            if lost is not None:
                raise lost
            self._compiled(observation, eager, accused, words, handing)

    def _stands(self, known: set[int]) -> bool:
        """Whether what a path did to decoys counts: it is not torch's own, and Python returns on
        them. Who is given the real inputs because he raised on others could be after just that."""
        if not is_anothers(self.request["path"]):
            return False
        try:
            with self._aside(OnDecoys(self.request, self._threads, known)) as cell:
                return bool(self._finish(cell, Handing(self.request, cell, known)).get("returned"))
        except (Lost, Unsupported):
            return False

    def _eager(self, observation: dict) -> Testimony:
        """Adds the reference, and what the accused may not say of it."""
        with self._started(Eager(self.request, self._threads, self._digests)) as cell:
            words = self._finish(cell)
            observation["reference"] = self._result(cell, words)
            observation["phases"] |= words["phases"]
            return _testimony(cell, words)

    def _compiled(
        self, observation: dict, eager: Testimony, cell: Cell, words: dict, handing: "Handing"
    ) -> None:
        path, reference = self.request["path"], observation["reference"]
        observation["phases"] |= words["phases"]
        result = self._result(cell, words, reference["error"])
        known = eager.executed(EAGER) if reference["outcome"] == "returned" else None
        traces = {} if known is None else {"traces": {EAGER: dict(known)}}
        if "package" in words:
            key, found = words["package"]
            proof = exported.leave(key, found, traces, self.directory)
        elif path.get("export") == "aot_inductor":
            proof = words.get("proof") or {"graphs": 0, "through_aot": False}
            # The program has returned, so whatever AOTInductor raises is its own.
            if proof["through_aot"] and result["error"]["kind"] == "error" and traces:
                result["error"].update(kind="internal", stage="compile")
                self.stage.last = "compile"
        else:
            said = {key: value for key, value in words["proof"].items() if key in SAID}
            proof = said | self._proof(result, known, cell, words, handing)
        observation |= {**result, "proof": proof}
        if cell.at_exit:
            observation["at_exit"] = cell.at_exit

    def _proof(
        self, result: dict, eager: Counter | None, cell: Cell, words: dict, handing: "Handing"
    ) -> dict:
        """What is known of an execution beside what Dynamo says."""
        path, ran = self.request["path"], _testimony(cell, words)
        proof: dict = {"through_aot": ran.through_aot("path")}
        if path.get("export") is None:
            proof["backend"] = {"called": ran.called, "raised": ran.raised}
        known = handing.known_at_compile or words.get("compiled_on_known")
        if known and self.request.get("decoys"):
            proof["inputs_known"] = True
        changed = [str(name) for name in words.get("changed") or []]
        if result["outcome"] == "returned":  # of an operator that raised the trace does not tell
            proof |= evidence(
                path, eager, ran, words.get("fallbacks") or [], self._watches, self._traces
            )
            if handing.started and proof.get("execution") == "observed":
                proof |= {"execution": "stated", "unsaid": handing.started}
        elif result["error"]["stage"] == "trace" and is_anothers(path):
            proof["control"] = self._control()
        if proof.get("at_compile_time") and proof.get("inputs_known"):
            proof["unsaid"] = "it executed the program when it compiled, with the inputs there"
        # Others than cheats may have their own profiler; nobody else has his own Lockstep.
        if of_torch := [name for name in changed if name.startswith(NOT_OURS)]:
            proof["unsaid"] = f"it put something else in the place of {of_torch[0]}"
        if ours := [name for name in changed if not name.startswith(NOT_OURS)]:
            proof["changed"] = ours
        return proof

    def _traces(self, names: list[str]) -> dict[str, Counter]:
        """What the program executes through backends of torch's own, of those that return."""
        try:
            with self._aside(Traces(self.request, self._threads, names)) as cell:
                words = self._finish(cell)
                ran = _testimony(cell, words)
        except Lost:
            return {}
        found = {name: ran.executed(name) for name in words.get("returned", ())}
        return {name: calls for name, calls in found.items() if calls is not None}

    def _control(self) -> str | None:
        """The class of what Dynamo raises, as torch has it, of the program; None where it gets
        through."""
        try:
            with self._aside(Control(self.request, self._threads, {})) as cell:
                error = (self._finish(cell).get("result") or {}).get("error")
        except Lost:
            return None
        return error["class"] if error is not None and error["stage"] == "trace" else None

    @contextmanager
    def _started(
        self, part: Part, hidden: list[str] | None = None, exits: bool = False
    ) -> Iterator[Cell]:
        cell = Cell(part, self.request["run"], hidden or [], exits)
        try:
            yield cell
        finally:
            cell.close()

    @contextmanager
    def _aside(self, part: Part) -> Iterator[Cell]:
        """A part that is asked about the accused: the stage stays where that one was."""
        last = self.stage.last
        try:
            with self._started(part) as cell:
                yield cell
        finally:
            self.stage(last)

    @contextmanager
    def _accused(self, known: set[int]) -> Iterator[Cell]:
        """The process in which a path compiles and executes. It is told where nothing lies."""
        adopt_orphans()
        told = {key: value for key, value in self.request.items() if key not in ("out", "before")}
        told["storages"] = [{"bytes": size} for size in sizes_of(self.request.get("storages", []))]
        on_trial = is_anothers(self.request["path"])
        part = Compiled(told, self._threads, self._digests, known)
        with self._started(part, self._hidden if on_trial else [], on_trial) as cell:
            yield cell

    def _finish(self, cell: Cell, handing: "Handing | None" = None) -> dict:
        """The words of a part, once it is over. Raises `Unsupported`, too."""
        if handing is None:
            words = cell.finish(self.stage)
            if "source" in words:
                with open(f"{self.directory}/program.py", "w", encoding="utf-8") as file:
                    file.write(words["source"])
        else:
            handing.give(handing.known)
            words = cell.finish(self.stage, handing.hand_over, handing.after)
        self.peak_memory_bytes = max(self.peak_memory_bytes, cell.peak_memory_bytes)
        if words.get("stage") is not None:
            self.stage.last = str(words["stage"])
        if "unsupported" in words:
            raise Unsupported(str(words["unsupported"]))
        return words

    def _result(self, cell: Cell, words: dict, eager_error: dict | None = None) -> dict:
        """What a part observed, its tensors as files."""
        result = self.handed.take(words, cell.files["bytes"])
        otherwise = result.pop("otherwise", [])
        if result["error"] is not None:
            result["error"] = errors.settled(result["error"], otherwise, eager_error)
        return result


class Handing:
    """Hands the bytes of a request's storages over to the accused, each when it is due, and looks
    at what it has started while it executes."""

    def __init__(self, request: dict, cell: Cell, known: set[int]) -> None:
        storages = request.get("storages", [])
        self._sizes = sizes_of(storages)
        self._files = [need(each, "file", "storages") for each in storages]
        self._places = places(self._sizes)
        self._calls = given_storages(request)
        self._cell, self._given = cell, set[int]()
        self._before: Started | None = None
        self.known = known
        #: Why nobody can have seen all that executed it; empty: somebody can.
        self.started = ""

    @property
    def all_given(self) -> bool:
        """Whether there is nothing more to hand over."""
        return set().union(*self._calls) <= self._given

    @property
    def known_at_compile(self) -> bool:
        """Whether a call has inputs that were all there before it was compiled."""
        return any(call and call <= self.known for call in self._calls)

    def give(self, storages: set[int]) -> None:
        """Puts the bytes of these into the file of inputs. Raises `Malformed`."""
        for index in sorted(storages - self._given):
            if not 0 <= index < len(self._sizes):
                raise Malformed(f"there is no storage {index}")
            try:
                with open(self._files[index], "rb", buffering=0) as file:
                    size, to = self._sizes[index], self._places[index]
                    copy(file.fileno(), 0, size, self._cell.files["inputs"], to)
            except OSError as error:
                raise Malformed(f"storage {index}: {error.strerror or error}") from None
        self._given |= storages

    def hand_over(self, _: int, call: int) -> None:
        """Gives the inputs of a call."""
        self.give(self._calls[call] if 0 <= call < len(self._calls) else set())
        self._before = Started.by(self._cell.pid)

    def after(self, _: int) -> None:
        """Looks what was started since, and what was there before and could have computed."""
        now = Started.by(self._cell.pid)
        if now.alive:
            self.started = "a process of its own was there while it executed"
        elif self._before is not None and now.faults != self._before.faults:
            self.started = "it started a process while it executed"


def _testimony(cell: Cell, words: dict) -> Testimony:
    try:
        return Testimony(cell.files["trace"], words.get("witness"))
    except ValueError:
        return Testimony(cell.files["trace"], NOBODY)
