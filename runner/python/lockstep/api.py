"""Lockstep from Python: capture what is compiled, have it judged, read the report.

Capturing happens in this process, by a backend that compiles nothing. Only the cases that are
written go to the runner, in processes of its own: a compiler that crashes takes nothing along."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import html
import os
import pathlib
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from lockstep.capturing import cases, proof, spool
from lockstep.capturing.cases import Captured as Graph
from lockstep.places import Refusal

#: How many lines of a report make its first screen.
SCREEN = 24


class Diverges(AssertionError):
    """Compiled and eager disagree; `report` says how."""

    def __init__(self, report: Report) -> None:
        super().__init__(report.screen())
        self.report = report


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What Lockstep says of one case on one path."""

    case: str
    path: str
    status: str
    reason: str
    #: The strictest policy that holds for all outputs, such as `bits` or `close`.
    grade: str
    #: The whole record, as docs/reference/log.md describes it.
    record: dict = dataclasses.field(repr=False, compare=False)

    @property
    def ok(self) -> bool:
        return self.status == "conform"


class Captured:
    """What was compiled while it was in force: a context manager, and a decorator.

    `cases` are the names of the cases so far, `reasons` say what could not be captured."""

    def __init__(self, name: str, **asked: Any) -> None:
        self._work = tempfile.TemporaryDirectory(prefix="lockstep-captured-")
        self._spool = spool.Spool(os.path.join(self._work.name, "spool"))
        self._name, self._asked = name, asked
        self._stack = contextlib.ExitStack()
        self._depth = 0

    @property
    def cases(self) -> list[str]:
        """The names of the cases."""
        return [each.name for each in self._found()]

    @property
    def reasons(self) -> list[str]:
        """What could not be captured: the place in the source, and why."""
        found = []
        for each in spool.reasons_of(self._spool.folder):
            place = each["source"] or {}
            at = f"{place['file']}:{place['line']}: " if place.get("file") else ""
            found.append(at + each["reason"])
        return found

    def __enter__(self) -> Captured:
        from lockstep.capturing.hooks import Hooks

        if self._depth == 0:
            hooks = Hooks(self._spool, asked=self._asked)
            hooks.install()
            self._stack.callback(hooks.remove)
        self._depth += 1
        return self

    def __exit__(self, *error: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self._stack.close()

    def __call__(self, function: Callable) -> Callable:
        """`function`, each call of which is captured; `function.captured` is this."""

        @functools.wraps(function)
        def capturing(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        capturing.captured = self  # type: ignore[attr-defined]
        return capturing

    def judge(self, policy: str | None = None) -> Report:
        """Has every case judged on the path that was asked for; `policy` replaces the default
        policies (docs/cases/policies.md). Raises `RuntimeError` where the runner fails."""
        return Report(self._found(), self.reasons, policy)

    def save(self, folder: str | os.PathLike) -> list[pathlib.Path]:
        """Writes the cases into a folder, with the recorded values, unjudged; the files."""
        return _save(self._found(), {}, pathlib.Path(folder))

    def _found(self) -> list[Graph]:
        regions = spool.regions_of(self._spool.folder)
        return cases.captured_of(regions, self._spool.folder, self._name)


class Report:
    """Verdicts on what was captured. It prints well; `ok` is true if there are verdicts, all of
    them conform, and nothing was left out."""

    def __init__(self, found: list[Graph], reasons: list[str], policy: str | None = None) -> None:
        self._found, self.reasons = found, reasons
        self._work = tempfile.TemporaryDirectory(prefix="lockstep-report-")
        folder = pathlib.Path(self._work.name)
        self._path_files = cases.write_paths(found, folder)
        for each in found:
            self.reasons = [*self.reasons, *(f"{each.name}: {why}" for why in each.refused)]
        try:
            with tempfile.TemporaryDirectory(prefix="lockstep-ways-") as trial:
                wish = proof.Wish(policy=policy)
                self._kept = proof.prove(found, pathlib.Path(trial), self._path_files, wish)
        except (proof.Failed, Refusal) as failed:
            raise RuntimeError(f"Lockstep could not judge what was captured: {failed}") from None
        #: One for each case on each path.
        self.verdicts: list[Verdict] = [
            _verdict(each.name, record)
            for each in found
            for record in self._kept[each.name].verdicts
        ]
        self._files = {
            each.name: cases.put(each, self._kept[each.name].way, folder) for each in found
        }

    @property
    def ok(self) -> bool:
        """Whether everything was judged, and conforms."""
        return bool(self.verdicts) and not self.reasons and all(each.ok for each in self.verdicts)

    def explain(self, seconds: float = 300) -> Answer:
        """Says who did it: the layer, the operator, the setting (docs/model/explain.md)."""
        return self._ask("explain", seconds)

    def shrink(self, seconds: float = 300) -> Answer:
        """Makes the first case that differs as small as it differs in the same way."""
        return self._ask("shrink", seconds)

    def save(self, path: str | os.PathLike) -> list[pathlib.Path]:
        """Writes the cases as they were judged: into a folder, or to one file where there is one
        case and the name ends with .json. The files."""
        return _save(self._found, self._kept, pathlib.Path(path))

    def __str__(self) -> str:
        lines = [self._summary()]
        for each in self.verdicts:
            lines.append(f"{'ok' if each.ok else 'NO':<3}{each.case}@{each.path}  {each.status}")
            lines += [f"     {each.reason}"] if each.reason else []
            lines += [f"     {line}" for line in self._passing(each)]
        lines += [f"not captured: {reason}" for reason in self.reasons]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<lockstep report: {self._summary()}>"

    def _repr_html_(self) -> str:
        """A table for a notebook."""
        rows = "".join(
            f"<tr><td>{html.escape(each.case)}</td><td>{html.escape(each.path)}</td>"
            f"<td><b>{html.escape(each.status)}</b></td><td>{html.escape(each.grade)}</td>"
            f"<td style='text-align:left'>{html.escape(each.reason)}</td></tr>"
            for each in self.verdicts
        )
        left = "".join(f"<li>not captured: {html.escape(each)}</li>" for each in self.reasons)
        return (
            f"<p>{html.escape(self._summary())}</p><table><tr><th>case</th><th>path</th>"
            f"<th>status</th><th>grade</th><th>reason</th></tr>{rows}</table><ul>{left}</ul>"
        )

    def screen(self) -> str:
        """The first screen of the report."""
        lines = str(self).splitlines()
        return "\n".join(lines[:SCREEN] + (["…"] if len(lines) > SCREEN else []))

    def _summary(self) -> str:
        if not self.verdicts:
            return "nothing was judged"
        good = sum(each.ok for each in self.verdicts)
        return f"{good} of {len(self.verdicts)} conform"

    def _passing(self, verdict: Verdict) -> Iterator[str]:
        """What the policies let pass."""
        shown = self._kept[verdict.case].shown
        if verdict.ok and shown is not None and proof.diverges(shown):
            yield f"differs, which its policies let pass: {shown['reason'].split(' (and ')[0]}"

    def _ask(self, command: str, seconds: float) -> Answer:
        """What a command of the runner says of the first case that differs."""
        for name, kept in self._kept.items():
            if kept.shown is None or not proof.diverges(kept.shown):
                continue
            found = next(each for each in self._found if each.name == name)
            way = kept.way
            if not any(proof.diverges(each) for each in kept.verdicts):
                way = proof.STRICT if not way.exact else proof.SHOWN
            folder = pathlib.Path(self._work.name) / "asked"
            folder.mkdir(exist_ok=True)
            file = cases.put(found, way, folder)
            words = [proof.runner(), command, str(file), "--path", kept.shown["path"]]
            for each in self._path_files:
                words += ["--path-file", str(each)]
            done = proof.called([*words, f"--seconds={seconds:g}", "--color=never"])
            return Answer(done.stdout or done.stderr)
        return Answer("nothing differs to the bit")


class Answer(str):
    """What a command says, which prints as it is."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


def capture(function: Callable | None = None, /, *args: Any, **kwargs: Any) -> Any:
    """Captures what is compiled.

    As a call, `capture(model, x)` calls `model(x)` as if it were compiled, and returns `Captured`.
    As a context, `with capture() as captured:` captures what is compiled inside, and the outermost
    modules if nothing is. As a decorator, `@capture` does so in every call of a function, whose
    `captured` has it.

    `backend`, `mode`, `dynamic` and `options` are as in `torch.compile`, for what is captured
    though nobody compiled it; `backward` also has the gradients computed. Other keywords go to the
    function."""
    asked = {key: kwargs.pop(key, None) for key in ("backend", "mode", "dynamic", "options")}
    backward = kwargs.pop("backward", False)
    if function is None:
        return Captured("captured", **asked)
    name = cases.word(getattr(function, "__name__", type(function).__name__))
    captured = Captured(name, **asked)
    if not args and not kwargs and not backward:
        return captured(function)
    _call(captured, function, args, kwargs, asked, backward)
    return captured


def check(
    function: Callable,
    /,
    *args: Any,
    backend: str | Callable = "inductor",
    mode: str | None = None,
    dynamic: bool | None = None,
    options: dict | None = None,
    backward: bool = False,
    policy: str | None = None,
    **kwargs: Any,
) -> Report:
    """Whether a function or a module computes compiled what it computes eagerly.

    It is called once with these arguments, by a backend that compiles nothing; its graphs are
    written as cases, and the runner judges them as `torch.compile(function, backend=…)` has them.
    With `backward`, gradients of the sum of all outputs are judged, too; nobody's `.grad` changes.
    `policy` says how closely it must agree, such as "bits" or "close"; without it the default of
    the path. Raises what the function raises, and `RuntimeError` where the runner fails."""
    asked = {"backend": backend, "mode": mode, "dynamic": dynamic, "options": options}
    name = cases.word(getattr(function, "__name__", type(function).__name__))
    captured = Captured(name, **asked)
    _call(captured, function, args, kwargs, asked, backward)
    return captured.judge(policy)


def assert_conforms(function: Callable, /, *args: Any, **kwargs: Any) -> Report:
    """`check`, whose report it returns. Raises `Diverges` unless the report is `ok`."""
    report = check(function, *args, **kwargs)
    if not report.ok:
        raise Diverges(report)
    return report


def _call(
    captured: Captured, function: Any, args: tuple, kwargs: dict, asked: dict, backward: bool
) -> None:
    """Calls a function as if it were compiled; Dynamo forgets it afterwards."""
    import torch
    from torch.utils._pytree import tree_leaves

    from lockstep.capturing import compat, hooks
    from lockstep.capturing.sources import place_of_code

    own = hooks.Hooks(captured._spool, as_if=False)
    try:
        with torch.enable_grad() if backward else contextlib.nullcontext():
            place = place_of_code(function)
            result = own.run(function, args, kwargs, hooks.asked_of(asked), place)
        if backward:
            given = [each for each in tree_leaves((args, kwargs)) if _differentiable(each)]
            module = getattr(function, "__self__", function)
            if isinstance(module, torch.nn.Module):
                given += [each for each in module.parameters() if each.requires_grad]
            of = [each for each in tree_leaves(result) if _differentiable(each)]
            if of and given:
                total = sum(each.sum() for each in of)
                torch.autograd.grad(total, given, allow_unused=True)
    finally:
        compat.forget(function)


def _differentiable(value: Any) -> bool:
    return bool(getattr(value, "requires_grad", False))


def _verdict(case: str, record: dict) -> Verdict:
    reason = record.get("reason") or ""
    return Verdict(
        case, record["path"], record["status"], reason, record.get("grade") or "", record
    )


def _save(
    found: list[Graph], kept: dict[str, proof.Kept], path: pathlib.Path
) -> list[pathlib.Path]:
    """Writes cases into a folder, or the only one to a file."""
    ways = {each.name: kept[each.name].way if each.name in kept else proof.EXACT for each in found}
    if path.suffix == ".json":
        if len(found) != 1:
            raise ValueError(f"{path} is one file, but there are {len(found)} cases: name a folder")
        with tempfile.TemporaryDirectory() as folder:
            file = cases.put(found[0], ways[found[0].name], pathlib.Path(folder))
            cases.put_text(file.read_text("utf-8"), path, found[0].values)
        return [path]
    path.mkdir(parents=True, exist_ok=True)
    cases.write_paths(found, path)
    return [cases.put(each, ways[each.name], path) for each in found]
