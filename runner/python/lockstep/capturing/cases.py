"""What was recorded, as case files; knows no torch."""

import dataclasses
import hashlib
import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any

from .elements import elements_of
from .paths import NATIVE, Path, paths_of

#: The most bytes of a case file.
MOST_BYTES = 1 << 20
#: Tensors of no more elements are always written out.
SMALL = 64


class TooBig(Exception):
    """A case does not fit into a file; the message says why."""


@dataclasses.dataclass
class Captured:
    """A graph of a program, its calls, and the paths on which the program asked for it."""

    name: str
    region: dict
    calls: list[dict]
    values: pathlib.Path
    paths: list[Path] = dataclasses.field(default_factory=list)
    #: Why the program's own compiler could not be made a path, if so.
    refused: list[str] = dataclasses.field(default_factory=list)
    graphs: int = 1
    #: How the case is kept: see `Way`.
    way: "Way | None" = None

    @property
    def program(self) -> dict:
        return self.region["program"]

    @property
    def outputs(self) -> list[str]:
        """The names that the program returns, each once."""
        named = [each["ref"] for each in self.program["outputs"] if "ref" in each]
        return list(dict.fromkeys(named))

    def gradients(self) -> list[str]:
        """The outputs that a gradient reached in every call that has a backward."""
        first = self.calls[0]["backward"]
        found = self.program["outputs"]
        return list(
            dict.fromkeys(
                found[int(at)]["ref"] for at in sorted(first, key=int) if "ref" in found[int(at)]
            )
        )

    def compared(self) -> list[str]:
        """Everything of the program that is compared: outputs, gradients, inputs written to."""
        inputs = self.calls[0]["inputs"]
        names = self.outputs + [
            n for n in self.calls[0].get("written", []) if n not in self.outputs
        ]
        if self.calls[0]["backward"]:
            names += [f"{n}.grad" for n, each in inputs.items() if each.get("requires_grad")]
        return names


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to write a case: with exact values or fills, and how strictly it compares."""

    exact: bool
    strict: bool
    policy: str | None = None  # of everything that is compared, instead of the default policies

    @property
    def word(self) -> str:
        return ("exact" if self.exact else "fills") + ("-strict" if self.strict else "")

    def __str__(self) -> str:
        values = "exact values" if self.exact else "fills"
        compared = "compared to the bit" if self.strict else self.policy or "default policy"
        return f"{values}, {compared}"


def captured_of(regions: list[dict], folder: pathlib.Path, stem: str) -> list[Captured]:
    """The regions as cases, each once: those of one program for several paths are one, and so are
    the calls of one place whose shapes differ. Graphs that say nothing are left out."""
    chosen = [each for each in regions if not each["as_if"]]
    found: dict[str, Captured] = {}
    for region in _merged(chosen or regions):
        calls = [each for each in region["calls"] if each]
        if not calls or not region["program"] or not region["program"]["steps"]:
            continue
        key = _digest([region["program"], calls])
        if key not in found:
            found[key] = Captured("", region, calls, folder / "values")
        else:
            found[key].graphs += 1
        captured = found[key]
        if region["asked"]["refused"]:
            captured.refused.append(region["asked"]["refused"])
        elif region["asked"]["backend"] or region["asked"].get("export"):
            for path in paths_of(region["asked"], len(calls) > 1, region["draws"], stem):
                if path.name not in [each.name for each in captured.paths]:
                    captured.paths.append(path)
    _name(list(found.values()), stem)
    return list(found.values())


def _merged(regions: list[dict]) -> Iterator[dict]:
    """Regions, a graph with sizes that vary together with those before it that it replaces."""
    left = list(regions)
    for region in regions:
        if region not in left or not region["program"] or not _varies(region["program"]["steps"]):
            continue
        before = [
            each
            for each in left[: left.index(region)]
            if each["program"]
            and each["where"] == region["where"]
            and each["asked"] == region["asked"]
            and set(each["program"]["inputs"]) == set(region["program"]["inputs"])
            and len(each["program"]["outputs"]) == len(region["program"]["outputs"])
        ]
        for each in before:
            left.remove(each)
        calls = [call for each in before for call in each["calls"]]
        left[left.index(region)] = {**region, "calls": [*calls, *region["calls"]][:8]}
    yield from left


def _varies(steps: list[dict]) -> bool:
    return any(
        step.get("op", "").startswith("aten::sym_") or _varies(step.get("steps", []))
        for step in steps
    )


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _name(all_: list[Captured], stem: str) -> None:
    """Gives every case the name of the program and of what was captured."""
    taken: set[str] = set()
    for each in all_:
        place = each.region["as_if"] or each.region["where"] or {}
        what = word(str(place.get("name") or "").removesuffix(".forward"))
        name = stem if what in ("captured", "module", stem) else word(f"{stem}-{what}")
        base, count = name, 1
        while name in taken:
            count += 1
            name = f"{base}-{count}"
        taken.add(name)
        each.name = name


def word(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:60] or "captured"


# Case files ---------------------------------------------------------------------------------------


def write(captured: Captured, way: Way, about: str = "") -> str:
    """The text of the case file. Raises `TooBig`."""
    place = captured.region["where"] or {}
    first = captured.calls[0]
    what = (captured.region["as_if"] or place).get("name") or "a graph"
    case: dict[str, Any] = {
        "format": 1,
        "title": f"{what} of {place.get('file')}, line {place.get('line')}"[:160],
        "tags": ["captured"],
    }
    if about:
        case["comment"] = about
    inputs = {
        name: _input(described, captured.values, way, at, first["inputs"])
        for at, (name, described) in enumerate(first["inputs"].items())
    }
    backward = _backward(captured, inputs, way)
    case["inputs"] = inputs
    if first["context"]:
        case["context"] = first["context"]
    if len(captured.calls) > 1:
        case["calls"] = [_call(captured, call, way) for call in captured.calls]
    case["steps"] = _steps(captured.program["steps"], captured)
    case["outputs"] = [each.get("ref", each.get("is")) for each in captured.program["outputs"]]
    if backward:
        case["backward"] = backward
    if first["raised"]:
        case["raises"] = {"class": first["raised"]["class"]}
    policies = {"*": "bits"} if way.strict else {"*": way.policy} if way.policy else {}
    if captured.region["draws"]:
        policies |= {NATIVE: "metadata"}
    if policies:
        policy = policies if NATIVE in policies else policies["*"]
        case["compare"] = dict.fromkeys(captured.compared(), policy)
    if way.strict:
        case["strides"] = "exact"
    written = text(case)
    if len(written.encode()) > MOST_BYTES:
        size = len(written.encode())
        raise TooBig(f"it has {size:,} bytes, but a case has {MOST_BYTES:,} at most")
    return written


def put(captured: Captured, way: Way, folder: pathlib.Path, about: str = "") -> pathlib.Path:
    """Writes the case file into a folder; with fills where its values are too many."""
    try:
        text = write(captured, way, about)
    except TooBig:
        text = write(captured, dataclasses.replace(way, exact=False), about)
    file = folder / f"{captured.name}.json"
    file.write_text(text, "utf-8")
    return file


def write_paths(all_: list[Captured], folder: pathlib.Path) -> list[pathlib.Path]:
    """Writes the path files that the suite does not have, in `paths/` of a folder."""
    files: list[pathlib.Path] = []
    for path in (path for each in all_ for path in each.paths):
        file = folder / "paths" / f"{path.name}.json"
        if path.file is not None and file not in files:
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(path.file, indent=1) + "\n", "utf-8")
            files.append(file)
    return files


def _input(described: dict, values: pathlib.Path, way: Way, seed: int, others: dict) -> dict:
    """An input of a case."""
    if "view_of" in described:
        found: dict[str, Any] = {"view_of": described["view_of"]}
        if described["dtype"] != others[described["view_of"]]["dtype"]:
            found["dtype"] = described["dtype"]
        found |= {"shape": described["shape"], "strides": described["strides"]}
        if described["offset"]:
            found["offset"] = described["offset"]
    else:
        found = {"dtype": described["dtype"], "shape": described["shape"]}
        needed = 1
        if described["strides"] != contiguous(described["shape"]):
            found["strides"] = described["strides"]
        if described["offset"]:
            found["offset"] = described["offset"]
        for size, stride in zip(described["shape"], described["strides"]):
            needed = needed + (size - 1) * stride if size else -described["offset"]
            if not size:
                break
        if described["storage"] != described["offset"] + needed:
            found["storage"] = described["storage"]
        found |= _content(described, values, way, seed)
    for key in ("requires_grad", "conj", "neg"):
        if described.get(key):
            found[key] = True
    return found


def _content(described: dict, values: pathlib.Path, way: Way, seed: int) -> dict:
    fill = described["fill"]
    if described["storage"] == 0:
        return {"fill": {"constant": 0}}
    if fill and ("constant" in fill or "arange" in fill):  # exact as they are
        return {"fill": fill}
    if way.exact or fill is None or described["storage"] <= SMALL:
        if described["storage"] * 6 > MOST_BYTES:
            raise TooBig(f"a tensor of {described['storage']:,} elements has no short text")
        data = (values / described["bytes"]).read_bytes()
        return {"values": list(elements_of(described["dtype"], data))}
    return {"fill": {**fill, "seed": seed + 1}}


def contiguous(shape: list[int]) -> list[int]:
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def _backward(captured: Captured, inputs: dict, way: Way) -> dict | None:
    """The backward of the case; gradients that are not all ones become inputs."""
    of = captured.gradients()
    if not of:
        return None
    first = captured.calls[0]["backward"]
    places = {each.get("ref"): at for at, each in enumerate(captured.program["outputs"])}
    given = [first[str(places[name])] for name in of]
    if all(each.get("fill") == {"constant": 1.0} for each in given):
        return {"of": of}
    names = []
    for at, (name, each) in enumerate(zip(of, given)):
        word = f"{name}_gradient"
        inputs[word] = _input(each, captured.values, way, 100 + at, {})
        names.append(word)
    return {"of": of, "with": names}


def _call(captured: Captured, call: dict, way: Way) -> dict:
    """What a call has otherwise than the first one."""
    first = captured.calls[0]["inputs"]
    found: dict[str, Any] = {}
    usual = {"grad": True, "inference": False, "deterministic_algorithms": False}
    before, now = captured.calls[0]["context"], call["context"]
    context = {key: now.get(key, usual.get(key)) for key in {*before, *now}
               if now.get(key) != before.get(key)}  # fmt: skip
    if context:
        found["context"] = context
    for at, (name, described) in enumerate(call["inputs"].items()):
        if described != first.get(name):
            found[name] = _input(described, captured.values, way, at, call["inputs"])
            found[name].pop("dtype", None)
            found[name].pop("requires_grad", None)
    return found


# Steps --------------------------------------------------------------------------------------------


def _steps(steps: list[dict], captured: Captured) -> list[dict]:
    used = set(captured.outputs)
    _uses(steps, used)
    return [_step(step, used, captured) for step in steps]


def _uses(value: Any, used: set[str]) -> None:
    if isinstance(value, dict):
        if set(value) == {"ref"}:
            used.add(value["ref"])
        for key, each in value.items():
            if key != "let":
                _uses(each, used)
    elif isinstance(value, list):
        for each in value:
            _uses(each, used)


def _step(step: dict, used: set[str], captured: Captured) -> dict:
    if "with" in step:
        inner = [_step(each, used, captured) for each in step["steps"]]
        return {"with": step["with"], "steps": inner}
    found: dict[str, Any] = {}
    lets = [name if name in used else None for name in step.get("let", [])]
    if lets:
        found["let"] = lets[0] if len(lets) == 1 else lets if any(lets) else None
    if "op" in step:
        word = step["op"].removeprefix("aten::")
        found["op"] = word.removesuffix(".default")
        _arguments(found, step, argument_of_operator)
    elif "call" in step:
        found["call"] = step["call"]
        _arguments(found, step, _argument)
    elif "tensor" in step:
        literal = step["tensor"]["literal"]
        data = (captured.values / literal["bytes"]).read_bytes()
        values = list(elements_of(literal["dtype"], data))
        found["tensor"] = {"dtype": literal["dtype"], "shape": literal["shape"], "values": values}
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


# Text ---------------------------------------------------------------------------------------------


def text(case: dict) -> str:
    """A case as JSON with a line for each input, step and call."""
    lines = []
    for key, value in case.items():
        if key == "sweep":
            inner = [f"    {_line(each)}" for each in value["calls"]]
            lines.append('  "sweep": {"calls": [\n' + ",\n".join(inner) + "\n  ]}")
        elif key == "inputs" and value:
            inner = [f"    {json.dumps(name)}: {_line(each)}" for name, each in value.items()]
            lines.append(f'  "{key}": {{\n' + ",\n".join(inner) + "\n  }")
        elif key in ("steps", "calls"):
            inner = [f"    {_line(each)}" for each in value]
            lines.append(f'  "{key}": [\n' + ",\n".join(inner) + "\n  ]")
        else:
            lines.append(f'  "{key}": {_line(value)}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
