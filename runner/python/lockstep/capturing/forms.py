"""Steps of the protocol in the form of a case; knows no torch."""

import json
import pathlib
import re
from typing import Any

from .elements import elements_of

#: The keys of a step under which its sub-programs are.
_ROLES = ("while", "do", "else")


def steps_of(steps: list[dict], outputs: list[str], values: pathlib.Path) -> list[dict]:
    """The steps of a program that returns these names, in the form of a case. `values` is where the
    bytes of literal tensors are."""
    used = used_by(steps, outputs)
    return [_step(step, used, values) for step in steps]


def used_by(steps: list[dict], outputs: list[str]) -> set[str]:
    """The names that a program which returns these uses."""
    used = set(outputs)
    _uses(steps, used)
    return used


def _uses(value: Any, used: set[str]) -> None:
    if isinstance(value, dict):
        if set(value) == {"ref"}:
            used.add(value["ref"])
        used.update(value["outputs"] if "outputs" in value else ())  # of a sub-program
        for key, each in value.items():
            if key != "let":
                _uses(each, used)
    elif isinstance(value, list):
        for each in value:
            _uses(each, used)


def _step(step: dict, used: set[str], values: pathlib.Path) -> dict:
    if "with" in step:
        inner = [_step(each, used, values) for each in step["steps"]]
        return {"with": step["with"], "steps": inner}
    found: dict[str, Any] = {}
    lets = [name if name in used else None for name in step.get("let", [])]
    if lets:
        one = len(lets) == 1 and not step.get("unpacks")
        found["let"] = lets[0] if one else lets if any(lets) else None
    if "op" in step:
        word = step["op"].removeprefix("aten::")
        found["op"] = word.removesuffix(".default")
        _arguments(found, step, argument_of_operator)
    elif "call" in step:
        found["call"] = step["call"]
        _arguments(found, step, _argument)
    elif "apply" in step:
        found["apply"] = step["apply"]
        _arguments(found, step, _argument)
        for role in _ROLES:
            if role in step:
                program = step[role]
                inner = [_step(each, used, values) for each in program["steps"]]
                found[role] = {**program, "steps": inner}
    elif "tensor" in step:
        literal = step["tensor"]["literal"]
        data = (values / literal["bytes"]).read_bytes()
        elements = list(elements_of(literal["dtype"], data))
        found["tensor"] = {"dtype": literal["dtype"], "shape": literal["shape"], "values": elements}
    elif "get" in step:
        found["get"] = f"%{step['get']['ref']}[{_index(step['index'])}]"
    elif "set" in step:
        found["set"] = f"%{step['set']['ref']}[{_index(step['index'])}]"
        found["to"] = _argument(step["to"])
    else:
        word, *operands = step["scalar"]
        found["scalar"] = [word, *(_argument(each) for each in operands)]
    if step.get("source"):
        found["source"] = step["source"]
    return found


def _arguments(found: dict, step: dict, write: Any) -> None:
    if step["args"]:
        found["args"] = [write(each) for each in step["args"]]
    if step["kwargs"]:
        found["kwargs"] = {key: write(each) for key, each in step["kwargs"].items()}


def _argument(value: Any) -> Any:
    """An argument in the form of a case, where a word says its kind."""
    if isinstance(value, list):
        return [_argument(each) for each in value]
    if not isinstance(value, dict):
        return value
    ((key, inner),) = value.items()
    if key == "ref":
        return f"%{inner}"
    if key == "str":
        return re.sub(r"^([%$])", r"\1\1", inner)
    if key == "float":
        number = float.fromhex(inner) if "x" in inner else None
        return {"float": inner} if number is None else number
    if key == "complex":
        return {"complex": [_plain_float(part) for part in inner]}
    if key == "device":
        return {"device": _device(inner)}
    return value


def argument_of_operator(value: Any) -> Any:
    """The same for an operator, whose schema knows dtypes and devices."""
    if isinstance(value, list):
        return [argument_of_operator(each) for each in value]
    if isinstance(value, dict):
        ((key, inner),) = value.items()
        if key in ("dtype", "layout", "memory_format"):
            return inner
        if key == "device":
            return _device(inner)
        if key == "float" and "x" not in inner:
            return inner
    return _argument(value)


def _device(word: str) -> str:
    return "$device" if word != "meta" else word


def _plain_float(text: str) -> Any:
    return float.fromhex(text) if "x" in text else text


def _index(items: list) -> str:
    return ", ".join(_item(each) for each in items)


def _item(item: Any) -> str:
    if isinstance(item, dict):
        if "ellipsis" in item:
            return "..."
        if "newaxis" in item:
            return "None"
        if "ref" in item:
            return f"%{item['ref']}"
        start, stop, step = ("" if part is None else _item(part) for part in item["slice"])
        return f"{start}:{stop}" + (f":{step}" if step else "")
    return json.dumps(item)
