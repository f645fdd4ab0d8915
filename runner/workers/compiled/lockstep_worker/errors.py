"""Turns an exception into the `error` of an observation: the original class and message, what was
wrapped around it, the stage, and whose failure it is."""

import ast
import os
import re
import sys
import traceback
from collections.abc import Iterator

from .compat.errors import (
    AOT,
    BACKEND,
    DYNAMO,
    FAKE,
    FAKE_TENSORS,
    FOLDERS,
    GUARD,
    INDUCTOR,
    LATE_BACKWARD,
    LOWERING,
    MODULES,
    NEEDS_DATA,
    NOTHING,
    OBSERVED,
    OF_DYNAMO,
    OF_INDUCTOR,
    QUOTED,
    REFUSED,
    TARGET,
    UNSUPPORTED,
    USER_CODE,
    WRAPPERS,
)

_MESSAGE = 16000  # characters; shape errors of large graphs can print whole programs
_DETAIL = 2000
_LINE = 300
#: Where exceptions keep what a compiler printed: those of subprocess, and others in their manner.
_PRINTED = ("diagnostics", "stderr", "output", "stdout")
#: A line of a compiler's output that says what is wrong.
_TELLING = re.compile(r"\b(?:error|fatal|failed|unsupported|not supported)\b", re.IGNORECASE)
#: Classes that the compiler's own slips have, and that kernels do not raise.
_SLIPS = (
    AssertionError,
    KeyError,
    AttributeError,
    NameError,
    RecursionError,
    UnboundLocalError,
    SyntaxError,
)


def class_name(kind: type) -> str:
    """The class as Python names it in a message: builtins without their module."""
    return (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )


def _next(error: BaseException) -> BaseException | None:
    """The exception that `error` was made from. `__suppress_context__` is ignored on purpose:
    Dynamo raises `from None` and so hides the original."""
    for name in ("inner_exception", "__cause__", "__context__"):
        inner = getattr(error, name, None)
        if isinstance(inner, BaseException) and inner is not error:
            return inner
    return None


def _is_wrapper(error: BaseException) -> bool:
    kind = type(error)
    return (
        kind.__module__.startswith(DYNAMO)
        or _text(error).startswith(FAKE)
        or kind.__name__ in WRAPPERS
    )


def chain(error: BaseException) -> Iterator[BaseException]:
    """`error` and what it was made from, outermost first; the compiler's wrappers only lead on."""
    seen: set[int] = set()
    at: BaseException | None = error
    while at is not None and id(at) not in seen:
        seen.add(id(at))
        yield at
        # An original error's own context is history of the program, not a wrapper.
        at = _next(at) if _is_wrapper(at) else None


def of_a_guard(error: BaseException) -> bool:
    """Whether an exported program says that it was not exported for what it is given."""
    return _text(error).startswith(GUARD)


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as again:
        return f"<{type(again).__name__} while printing the message>"


def _quoted(message: str) -> tuple[str, str] | None:
    """Class and message that Dynamo quotes in `… got ValueError('…')`; None if there is none."""
    match = QUOTED.search(message)
    if not match:
        return None
    inner = match.group(2).split(USER_CODE, 1)[0].rstrip(") \n")
    for text in (inner, inner + ")"):
        try:
            value = ast.literal_eval(text.rstrip(","))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return match.group(1), value if isinstance(value, str) else str(value)
    return match.group(1), inner


def _raised_in(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return frames[-1].filename if frames else ""


def _of_a_late_backward(error: BaseException) -> bool:
    """Whether an exception comes from the compilation of a backward that is called first: whoever
    compiles it raises where the program runs, and nothing is wrapped around it."""
    return any(
        AOT in frame.filename and LATE_BACKWARD in (frame.line or "")
        for frame in traceback.extract_tb(error.__traceback__)
    )


def _compilers_own(error: BaseException) -> bool:
    """Whether an unwrapped exception comes from the compiler and not from an operator."""
    if type(error).__module__.startswith(MODULES):
        return True
    place = _raised_in(error)
    cache = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    inside = any(folder in place for folder in FOLDERS) or bool(cache and place.startswith(cache))
    return inside and isinstance(error, _SLIPS)


def _is(error: BaseException, reference: dict | None) -> bool:
    """Whether an exception is the one that eager raised."""
    return reference is not None and (class_name(type(error)), _text(error).strip()) == (
        reference["class"],
        reference["message"],
    )


def _unsupported(error: BaseException) -> bool:
    """Whether an exception says that something is not supported: NotImplementedError, what derives
    from it, and torch's own."""
    return isinstance(error, NotImplementedError) or any(
        base.__module__.startswith("torch.") and base.__name__ in UNSUPPORTED
        for base in type(error).__mro__
    )


def _of_a_backend(place: str) -> bool:
    """Whether a file is a backend's that is not torch's: nothing of torch's, of a cache's or
    generated, and not this one, in which a reproducer has its program."""
    cache = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    folders = [*sys.modules["torch"].__path__, *([cache] if cache else [])]
    return (
        os.path.isabs(place)
        and os.path.exists(place)
        and place != os.path.abspath(__file__)
        and not place.startswith(tuple(folder + os.sep for folder in folders))
    )


def _kind_and_stage(links: list[BaseException], stage: str) -> tuple[str, str]:
    named = {type(link).__name__ for link in links}
    outer = links[0]
    by_backend = "refused" if any(_unsupported(link) for link in links) else "internal"
    if OF_INDUCTOR in named or any(type(link).__module__.startswith(INDUCTOR) for link in links):
        return by_backend, "compile"
    if BACKEND in named:
        return by_backend, "lower"
    # Others may call theirs by the same names.
    lineage = {
        base.__name__ for base in type(outer).__mro__ if base.__module__.startswith("torch.")
    }
    if lineage & REFUSED:
        # An exception that Dynamo saw the program raise is the program's, though it stops tracing.
        observed = any(base.__name__ == OBSERVED for link in links for base in type(link).__mro__)
        # What a backend cannot do Dynamo may say in its own words.
        return ("error" if observed else "refused"), ("lower" if stage == "lower" else "trace")
    if FAKE_TENSORS in named:
        return "error", "trace"
    if _text(outer).startswith(NOTHING):
        return "refused", "trace"
    if of_a_guard(outer):
        return "refused", "trace"
    # torch.export lets through what Dynamo would say in its own words.
    if stage == "trace" and (_unsupported(outer) or NEEDS_DATA in lineage):
        return "refused", stage
    if OF_DYNAMO in named or type(outer).__module__.startswith(DYNAMO):
        return "internal", "trace"
    if stage == "run" and _of_a_late_backward(outer):
        return by_backend, "lower"
    # A backend may compile with the first call of what it returned.
    if stage == "run" and _unsupported(outer) and _of_a_backend(_raised_in(outer)):
        return "refused", stage
    return ("internal" if _compilers_own(outer) else "error"), stage


def _telling(printed: object) -> str:
    """The line of what a compiler printed that says most: the last one that speaks of an error,
    else the last one."""
    if isinstance(printed, (list, tuple)):
        printed = "\n".join(str(part) for part in printed)
    if isinstance(printed, bytes):
        printed = printed.decode("utf-8", "replace")
    if not isinstance(printed, str):
        return ""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    told = [line for line in lines if _TELLING.search(line)]
    return (told or lines or [""])[-1][:_LINE]


def _detail(links: list[BaseException]) -> str:
    """What the messages of the exceptions do not say: the operator whose lowering failed; what the
    original was made from, what it was noted with, and what a compiler had printed."""
    original = links[-1]
    parts: list[str] = []
    for link in links[:-1]:
        if type(link).__name__ == LOWERING and (targets := TARGET.findall(_text(link))):
            parts.append(" ".join(targets[-1].split())[: 2 * _LINE])
    at, seen = original, {id(original)}
    while True:
        parts += [_telling(getattr(at, name, None)) for name in _PRINTED]
        parts += [
            _telling(note) for note in getattr(at, "__notes__", ()) if USER_CODE.strip() not in note
        ]
        fingerprint = at.__cause__
        if fingerprint is None or id(fingerprint) in seen:
            break
        seen.add(id(fingerprint))
        at = fingerprint
        parts.append(f"from {first_words(fingerprint)}"[:_LINE])
    message, told = _text(original), []
    for part in parts:
        if part and part not in message and part not in told:
            told.append(part)
    return "; ".join(told)[:_DETAIL]


def first_words(error: BaseException) -> str:
    """The class of an error and the first line of its message; where that only announces another
    error (`backend='inductor' raised:`), the line after it, too."""
    lines = [line for line in _text(error).splitlines() if line.strip()] or [""]
    count = 2 if lines[0].rstrip().endswith("raised:") else 1
    return f"{type(error).__name__}: {' '.join(lines[:count])}"


def describe(error: BaseException, stage: str, reference: dict | None = None) -> dict:
    """The `error` of an observation. `stage`: the stage that was announced last. `reference`: the
    error of the eager execution, if any: a compiler that passes on what eager raises has not
    failed, wherever it happened."""
    links = list(chain(error))
    kind, stage = _kind_and_stage(links, stage)
    same = [i for i, link in enumerate(links) if _is(link, reference)]
    if kind == "refused" and same:
        links, kind = links[: same[0] + 1], "error"
    elif kind == "refused" and stage == "trace":
        # What Dynamo says is the point; what it handled before is chance.
        links = links[:1]
    elif kind == "refused":
        links = links[
            : max((i for i, link in enumerate(links) if _unsupported(link)), default=0) + 1
        ]
    original = links[-1]
    name, message = class_name(type(original)), _text(original)
    if len(links) == 1 or _is_wrapper(original):
        quoted = (
            _quoted(message) if FAKE_TENSORS in {type(link).__name__ for link in links} else None
        )
        if quoted:
            name, message = quoted
    wrapped = [class_name(type(link)) for link in links[:-1]]
    if name != class_name(type(original)):
        wrapped.append(class_name(type(original)))
    message = message.split(USER_CODE, 1)[0].strip()
    if (
        kind == "internal"
        and reference
        and (name, message) == (reference["class"], reference["message"])
    ):
        kind = "error"
    described = {
        "stage": stage,
        "class": name,
        "message": message[:_MESSAGE],
        "wrapped": wrapped,
        "kind": kind,
    }
    # Of an error of the program there is nothing more to say.
    detail = _detail(links) if kind != "error" or stage == "run" else ""
    return {**described, "detail": detail} if detail else described


def descriptions(error: BaseException, stage: str) -> tuple[dict, list[list]]:
    """The `error` of an observation by a process that does not know eager's, and what it would be
    if eager raised one of those that it was made from: class, message and that `error`, each."""
    alone = describe(error, stage)
    eager = [(class_name(type(link)), _text(link).strip()) for link in chain(error)]
    eager.append((alone["class"], alone["message"]))
    others = [
        [name, text[:_MESSAGE], describe(error, stage, {"class": name, "message": text})]
        for name, text in dict.fromkeys(eager)
    ]
    return alone, [other for other in others if other[2] != alone]


def settled(alone: dict, others: list[list], reference: dict | None) -> dict:
    """Which of what `descriptions` gives is the error, by what eager raised, if anything."""
    if reference is not None:
        for name, text, error in others:
            if (name, text) == (reference["class"], reference["message"]):
                return error
    return alone
