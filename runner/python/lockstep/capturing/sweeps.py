"""Distinct calls as a sweep: one instance for each; knows no torch."""

import hashlib
import itertools
import json
import re
import string
from collections.abc import Iterator
from typing import Any

from . import cases
from .forms import argument_of_operator

#: The most bytes of a file, times its calls: the file is decoded for each of them.
MOST_DECODED = 32 << 20
#: The most characters of a call in an id.
MOST_OF_A_CALL = 120
#: Of what names of inputs are made: results are called y.
_FIRST, _NEXT = string.ascii_lowercase.replace("y", ""), string.ascii_lowercase + string.digits


def write(
    noted: list[dict], program: str, most_bytes: int = cases.MOST_BYTES
) -> tuple[list[str], int]:
    """The texts of the case files, as few as hold all calls, and how many calls are too long for
    an id. Calls that take like tensors share them."""
    texts: list[str] = []
    left = [each for each in noted if fits(each)]
    too_long = len(noted) - len(left)
    while left:
        count = len(left)
        while count > 1 and not small(text_of(left[:count], program), count, most_bytes):
            count //= 2
        texts.append(text_of(left[:count], program))
        left = left[count:]
    return texts, too_long


def small(text: str, calls: int, most_bytes: int) -> bool:
    """Whether a file of so many calls is one that `check` takes."""
    size = len(text.encode())
    return size <= most_bytes and size * calls <= MOST_DECODED


def fits(noted: dict) -> bool:
    """Whether an id has room for a call, whose inputs have the shortest names."""
    return len(in_id(_call(noted["call"], dict.fromkeys(noted["inputs"], "ab")))) <= (
        MOST_OF_A_CALL
    )


def in_id(call: list[Any]) -> str:
    """A call of the sweep as ids have it."""
    op, *args = call
    named = args.pop() if args and isinstance(args[-1], dict) else {}
    words = [_plain(each) for each in args] + [f"{key}={_plain(v)}" for key, v in named.items()]
    return f"{op}({','.join(words)})"


def _plain(value: Any) -> str:
    return re.sub('[%" ]', "", json.dumps(value))


def text_of(noted: list[dict], program: str) -> str:
    """The text of one file."""
    case = {
        "format": 1,
        "title": f"Every distinct call of an operator in {program}",
        "tags": ["captured"],
        **sweep_of(noted),
    }
    return cases.text(case)


def sweep_of(noted: list[dict]) -> dict[str, Any]:
    """What calls a sweep and takes: a case without its head."""
    inputs: dict[str, dict] = {}
    calls = []
    for each in noted:
        for letters in (3, 2):  # shorter ones where an id has no room
            own = _names(each["inputs"], inputs, letters)
            call = _call(each["call"], {word: name for word, (name, _) in own.items()})
            if len(in_id(call)) <= MOST_OF_A_CALL:
                break
        inputs |= dict(own.values())
        calls.append(call)
    return {"share": True, "inputs": inputs, "sweep": {"calls": calls}}


def _names(
    taken: dict[str, dict], inputs: dict[str, dict], letters: int
) -> dict[str, tuple[str, dict]]:
    """What the inputs of a call are called, and how they are written: by their digests, so that
    they are called so whatever else there is. Of those that are alike each has its own numbers."""
    own: dict[str, tuple[str, dict]] = {}
    names: set[str] = set()
    for word, described in taken.items():
        base = taken.get(described.get("view_of", ""), described)
        written = _input(described, base["fill"])
        free = (name for name in _digests(json.dumps(written), letters) if name not in names)
        name = next(name for name in free if inputs.get(name, written) == written)
        names.add(name)
        own[word] = name, written
    return own


def _digests(text: str, letters: int) -> Iterator[str]:
    """Names of so many letters, most of which nothing else has; longer ones where many have."""
    for turn in itertools.count():
        places = hashlib.sha256(f"{text}{turn}".encode()).digest()
        first, *others = places[: letters + turn // 100]
        yield _FIRST[first % len(_FIRST)] + "".join(_NEXT[each % len(_NEXT)] for each in others)


def _input(described: dict, fill: dict | str | None) -> dict:
    """An input with a fill in the place of its values; a view has memory of its own."""
    found: dict[str, Any] = {"dtype": described["dtype"], "shape": described["shape"]}
    if described["strides"] != cases.contiguous(described["shape"]):
        found["strides"] = described["strides"]
    if described["offset"]:
        found["offset"] = described["offset"]
    return found | {"fill": fill or "normal"}


def _call(call: dict, own: dict[str, str]) -> list[Any]:
    renamed = _renamed(call, own)
    found: list[Any] = [call["op"].removeprefix("aten::").removesuffix(".default")]
    found += [argument_of_operator(each) for each in renamed["args"]]
    named = {
        key: argument_of_operator(each)
        for key, each in renamed["kwargs"].items()
        if each is not None  # what it is unless one says
    }
    return [*found, named] if named else found


def _renamed(value: Any, own: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(each, own) for each in value]
    if isinstance(value, dict):
        if set(value) == {"ref"}:
            return {"ref": own[value["ref"]]}
        return {key: _renamed(each, own) for key, each in value.items()}
    return value
