"""What was recorded, as case files; knows no torch."""

import dataclasses
import hashlib
import json
import pathlib
import re
import shutil
from typing import Any

from .chains import carry_of, chains, differ, worth
from .elements import elements_of
from .forms import steps_of, used_by
from .paths import NATIVE, Path, paths_of

#: The most bytes of a case file.
MOST_BYTES = 1 << 20
#: Tensors of no more elements are always written out; recorded values of more than these lie in a
#: file beside the case.
SMALL, IN_TEXT = 64, 512
#: The most bytes of a file of values, and of all those of a case.
MOST_OF_VALUES, MOST_OF_ALL_VALUES = 64 << 20, 512 << 20
_FILE = re.compile(r'"file": "([0-9a-f]{64})\.bin"')


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

    def carry(self) -> dict[str, str]:
        """See `carry_of`."""
        return carry_of(self.region, self.calls)

    def gradients(self) -> list[str]:
        """The outputs that a gradient reached in every call."""
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
    small: int = SMALL

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
    for region in chains(chosen or regions):
        if not region["calls"] or not region["program"] or not region["program"]["steps"]:
            continue
        calls = [_of_use(each, region["program"]) for each in worth(region)]
        key = _digest([region["program"], calls])
        if key not in found:
            found[key] = Captured("", region, calls, folder / "values")
        else:
            found[key].graphs += 1
        captured = found[key]
        if region["asked"]["refused"]:
            captured.refused.append(region["asked"]["refused"])
        elif region["asked"]["backend"] or region["asked"].get("export"):
            for path in paths_of(region["asked"], differ(calls), region["draws"], stem):
                if path.name not in [each.name for each in captured.paths]:
                    captured.paths.append(path)
    _name(list(found.values()), stem)
    return list(found.values())


def _of_use(call: dict, program: dict) -> dict:
    """A call with those inputs alone that the program uses: a function may be given more."""
    outputs = [each["ref"] for each in program["outputs"] if "ref" in each]
    used = used_by(program["steps"], outputs)
    used |= {each.get("view_of") for name, each in call["inputs"].items() if name in used}
    kept = {key: {name: each for name, each in call.get(key, {}).items() if name in used}
            for key in ("inputs", "carried")}  # fmt: skip
    return {**call, **kept}


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
        case["calls"] = [_call(captured, call, way, backward) for call in captured.calls]
    case["steps"] = steps_of(captured.program["steps"], captured.outputs, captured.values)
    case["outputs"] = [each.get("ref", each.get("is")) for each in captured.program["outputs"]]
    if backward:
        case["backward"] = backward
    if carry := captured.carry():
        case["carry"] = carry
    if raised := captured.calls[-1]["raised"]:
        case["outputs"] = case["outputs"] or [None]
        case["raises"] = {"class": raised["class"]}
    policies = {"*": "bits"} if way.strict else {"*": way.policy} if way.policy else {}
    if captured.region["draws"]:
        policies |= {NATIVE: "metadata"}
    if policies:
        policy = policies if NATIVE in policies else policies["*"]
        case["compare"] = dict.fromkeys(captured.compared(), policy)
    if way.strict:
        case["strides"] = "exact"
    written = text(case)
    sizes = ((captured.values / each).stat().st_size for each in set(_FILE.findall(written)))
    if (size := sum(sizes)) > MOST_OF_ALL_VALUES:
        raise TooBig(f"its values have {size:,} bytes, but {MOST_OF_ALL_VALUES:,} at most are kept")
    if len(written.encode()) > MOST_BYTES:
        size = len(written.encode())
        raise TooBig(f"it has {size:,} bytes, but a case has {MOST_BYTES:,} at most")
    return written


def put(captured: Captured, way: Way, folder: pathlib.Path, about: str = "") -> pathlib.Path:
    """Writes the case file into a folder, and its values beside it; with fills where its values are
    too many."""
    try:
        text = write(captured, way, about)
    except TooBig:
        text = write(captured, dataclasses.replace(way, exact=False), about)
    file = folder / f"{captured.name}.json"
    put_text(text, file, captured.values)
    return file


def put_text(text: str, file: pathlib.Path, values: pathlib.Path) -> None:
    """Writes a case file, and the files of values that it names into `values/` beside it."""
    for digest in dict.fromkeys(_FILE.findall(text)):
        target = file.parent / "values" / f"{digest}.bin"
        target.parent.mkdir(exist_ok=True)
        if not target.exists():
            shutil.copyfile(values / digest, target)
    file.write_text(text, "utf-8")


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
    if described.get("zero_tensor"):
        found: dict[str, Any] = {"dtype": described["dtype"], "shape": described["shape"]}
        found["zero_tensor"] = True
    elif "view_of" in described:
        found = {"view_of": described["view_of"]}
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
    special = {"except": described["except"]} if "except" in described else {}
    if fill and ("constant" in fill or "arange" in fill):  # exact as they are
        return {"fill": fill, **special}
    if (
        described["storage"] <= way.small
        or (way.exact or fill is None)
        and (described["storage"] <= IN_TEXT)
    ):
        data = (values / described["bytes"]).read_bytes()
        return {"values": list(elements_of(described["dtype"], data))}
    if way.exact or fill is None:
        if (size := (values / described["bytes"]).stat().st_size) > MOST_OF_VALUES:
            raise TooBig(f"a tensor of {size:,} bytes is more than a file of values has")
        return {"file": f"{described['bytes']}.bin"}
    return {"fill": {**fill, "seed": seed + 1}, **special}


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
    if all(
        each.get("fill") == {"constant": 1.0}
        for call in captured.calls
        for each in _gradients(captured, call).values()
    ):
        return {"of": of}
    given = _gradients(captured, captured.calls[0])
    for at, (name, each) in enumerate(given.items()):
        inputs[name] = _input(each, captured.values, way, 100 + at, {})
    return {"of": of, "with": list(given)}


def _gradients(captured: Captured, call: dict) -> dict[str, dict]:
    """The gradients that reached the outputs of a call, by the names that they have as inputs."""
    places = {each.get("ref"): at for at, each in enumerate(captured.program["outputs"])}
    return {
        f"{name}_gradient": call["backward"][str(places[name])] for name in captured.gradients()
    }


def _call(captured: Captured, call: dict, way: Way, backward: dict | None) -> dict:
    """What a call has otherwise than the first one."""
    first = captured.calls[0]["inputs"]
    found: dict[str, Any] = {}
    usual = {"grad": True, "inference": False, "deterministic_algorithms": False}
    before, now = captured.calls[0]["context"], call["context"]
    context = {key: now.get(key, usual.get(key)) for key in {*before, *now}
               if now.get(key) != before.get(key)}  # fmt: skip
    if context:
        found["context"] = context
    carry = captured.carry()
    for at, (name, described) in enumerate(call["inputs"].items()):
        if name in carry and _placed(described) == _placed(first[name]):
            continue
        if described != first.get(name):
            found[name] = _input(described, captured.values, way, at, call["inputs"])
            found[name].pop("dtype", None)
            found[name].pop("requires_grad", None)
    if "with" in (backward or {}):
        before = _gradients(captured, captured.calls[0])
        for at, (name, described) in enumerate(_gradients(captured, call).items()):
            if described != before[name]:
                found[name] = _input(described, captured.values, way, 100 + at, {})
                del found[name]["dtype"]
    return found


def _placed(described: dict) -> list:
    """The sizes of an input, and where its elements lie."""
    return [described.get(key) for key in ("shape", "strides", "offset", "storage")]


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
