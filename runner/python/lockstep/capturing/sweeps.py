"""Distinct calls as a sweep: one instance for each; knows no torch."""

import json
from collections.abc import Iterator
from typing import Any

from . import cases
from .forms import argument_of_operator

#: The most calls in a file: their text stays within that of a case.
MOST_CALLS = 2_000


def write(noted: list[dict], program: str, most_bytes: int = cases.MOST_BYTES) -> list[str]:
    """The texts of the case files, as few as hold all calls. Calls that take like tensors share
    them."""
    texts: list[str] = []
    left = noted
    while left:
        count = min(len(left), MOST_CALLS)
        while len(text := _text(left[:count], program)) > most_bytes and count > 1:
            count //= 2
        texts.append(text)
        left = left[count:]
    return texts


def _text(noted: list[dict], program: str) -> str:
    inputs: dict[str, dict] = {}
    names: dict[str, str] = {}  # what an input is → its name
    calls: list[list[Any]] = []
    for each in noted:
        own: dict[str, str] = {}
        taken: set[str] = set()
        for word, described in each["inputs"].items():
            written = _input(described, own)
            key = json.dumps(written)
            name = next((n for n in _names(key, names) if n not in taken), None)
            if name is None:
                name = f"t{len(inputs)}"
                seed = {} if "fill" not in written else {"seed": len(inputs) + 1}
                if "fill" in written and not set(written["fill"]) & {"constant", "arange"}:
                    written["fill"] = {**written["fill"], **seed}
                inputs[name] = written
                names[f"{key} {name}"] = name
            taken.add(name)
            own[word] = name
        calls.append(_call(each["call"], own))
    case = {
        "format": 1,
        "title": f"Every distinct call of an operator in {program}",
        "tags": ["captured"],
        "share": True,
        "inputs": inputs,
        "sweep": {"calls": calls},
    }
    return cases.text(case)


def _names(key: str, names: dict[str, str]) -> Iterator[str]:
    """The inputs that are like one already."""
    yield from (name for each, name in names.items() if each.startswith(key + " "))


def _input(described: dict, own: dict[str, str]) -> dict:
    """An input with a fill in the place of its values; what shares memory has its own here."""
    if "view_of" in described:
        found: dict[str, Any] = {"view_of": own[described["view_of"]]}
    else:
        found = {"dtype": described["dtype"]}
    found["shape"] = described["shape"]
    if described["strides"] != cases.contiguous(described["shape"]):
        found["strides"] = described["strides"]
    if described["offset"]:
        found["offset"] = described["offset"]
    if "view_of" not in described:
        found["fill"] = described["fill"] or {"normal": {}}
    return found


def _call(call: dict, own: dict[str, str]) -> list[Any]:
    renamed = _renamed(call, own)
    found: list[Any] = [call["op"].removeprefix("aten::").removesuffix(".default")]
    found += [argument_of_operator(each) for each in renamed["args"]]
    named = {key: argument_of_operator(each) for key, each in renamed["kwargs"].items()}
    return [*found, named] if named else found


def _renamed(value: Any, own: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed(each, own) for each in value]
    if isinstance(value, dict):
        if set(value) == {"ref"}:
            return {"ref": own[value["ref"]]}
        return {key: _renamed(each, own) for key, each in value.items()}
    return value
