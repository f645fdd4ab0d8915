"""Every distinct call that the models make, as they are used: sweeps, one file for each kind of
operator, and a table that says which model makes which call how often.

Calls that differ in nothing but sizes are one call, the most frequent of them: tensors that have
the same dtypes, and in the same way dimensions or none, one shape or several, and memory that is
contiguous, in another order, with gaps, or expanded."""

import collections
import json
import pathlib
import re
import tempfile
from typing import Any

import torch

from lockstep.capturing import cases, spool, sweeps

from . import capture

FOLDER = capture.FOLDER / "calls"
#: The table beside the sweeps: file, call, how many it stands for, and the models.
TABLE = FOLDER / "calls.tsv"
#: What the names of operators begin with: their file. Others are in `pointwise` or in `others`.
FILES = {
    "convolution": "convolutions",
    "mm": "products",
    "addmm": "products",
    "bmm": "products",
    "native_": "norms",
    "_weight_norm": "norms",
    "_scaled_dot_product": "attention",
    "_softmax": "attention",
    "_safe_softmax": "attention",
    "_log_softmax": "attention",
}
#: Whose numbers are whatever was in memory.
EMPTY = ("aten::new_empty", "aten::empty_like")
#: Operators of whose arguments whole numbers above 1 are sizes.
_SIZES = re.compile(
    r"aten::(_unsafe_view|new_zeros|new_ones|new_full|native_layer_norm|native_layer_norm_backward"
    r"|slice_backward|select_backward|embedding_dense_backward|repeat)\b"
)


def write(uses: dict[str, list[str]]) -> int:
    """Writes the sweeps and the table of models, each used in ways and dtypes (`forward:float32`);
    returns the exit status."""
    found: dict[str, dict] = {}
    libraries: set[str] = set()
    for name, words in uses.items():
        noted, library = noted_of(name, words)
        libraries.add(library)
        for each in noted:
            known = found.setdefault(_key(each), {**each, "models": collections.Counter()})
            known["models"][name] += each["times"]
        print(f"{name}: {len(noted)} calls, {len(found)} of all", flush=True)
    notice = f"Captured from models of {' and '.join(sorted(libraries))}, Apache License 2.0."
    FOLDER.mkdir(exist_ok=True)
    for file in FOLDER.glob("*.json"):
        file.unlink()
    lines = []
    for stem, calls in sorted(files_of(folded([*found.values()])).items()):
        case = headed(stem, calls, notice)
        text = cases.text(case)
        if not sweeps.small(text, len(calls), capture.MOST_BYTES):
            raise capture.Failed(f"{stem} has {len(text):,} bytes and {len(calls)} calls")
        (FOLDER / f"{stem}.json").write_text(text, "utf-8")
        for call, each in zip(case["sweep"]["calls"], calls):
            models = " ".join(f"{name}:{times}" for name, times in sorted(each["models"].items()))
            lines.append(f"{stem}\t{sweeps.in_id(call)}\t{each['folded']}\t{models}\n")
        print(f"{stem}: {len(calls)} calls, {len(text) >> 10} KiB", flush=True)
    TABLE.write_text("".join(lines), "utf-8")
    return 0


def noted_of(name: str, uses: list[str]) -> tuple[list[dict], str]:
    """The calls of a model, and the library that it is of. Raises `Failed`."""
    with tempfile.TemporaryDirectory(prefix="lockstep-models-") as folder:
        said = capture.execute([name, "--eager", *uses], pathlib.Path(folder), calls=True)
        noted = [each for r in spool.regions_of(pathlib.Path(folder)) for each in r["sweep"]]
    library = re.search(r" of (\w+ [\w.]+), Apache", said.splitlines()[-1])
    if library is None:
        raise capture.Failed(f"{name}: nobody says whose it is: {said[-200:]}")
    return [each for each in noted if not each["call"]["op"].startswith(EMPTY)], library[1]


def folded(found: list[dict]) -> list[dict]:
    """Of calls that differ only in sizes the most frequent one, with what all of them are made."""
    groups: dict[str, list[dict]] = collections.defaultdict(list)
    for each in found:
        groups[json.dumps(_class(each))].append(each)
    kept = []
    for group in groups.values():
        group.sort(key=lambda each: (-each["models"].total(), _key(each)))
        models: collections.Counter = sum((each["models"] for each in group), collections.Counter())
        kept.append({**group[0], "models": models, "folded": len(group)})
    return sorted(kept, key=_key)


def files_of(calls: list[dict]) -> dict[str, list[dict]]:
    """The calls by the files that they belong to."""
    files: dict[str, list[dict]] = collections.defaultdict(list)
    for each in calls:
        name, _, overload = each["call"]["op"].removeprefix("aten::").partition(".")
        stem = next((file for word, file in FILES.items() if name.startswith(word)), None)
        operator = getattr(getattr(torch.ops.aten, name), overload or "default")
        pointwise = "pointwise" if torch.Tag.pointwise in operator.tags else "others"
        files[stem or pointwise].append(each)
    return files


def headed(stem: str, calls: list[dict], notice: str) -> dict:
    """A case of calls."""
    plain = [{**each, "inputs": _plain(each["inputs"])} for each in calls]
    return {
        "$schema": "../../schema/case.schema.json",
        "format": 1,
        "title": f"Distinct calls of models: {stem}",
        "comment": f"Written by ci/model_cases.py --calls; do not edit. {notice}",
        "tags": ["captured", "model", "calls"],
        **sweeps.sweep_of(plain),
    }


def _plain(inputs: dict[str, dict]) -> dict[str, dict]:
    """Inputs with fills of few digits, so that many calls share them."""
    return {name: {**each, "fill": _fill(each.get("fill"))} for name, each in inputs.items()}


def _fill(fill: dict | None) -> dict | str | None:
    rule, numbers = next(iter((fill or {"": None}).items()))
    if rule not in ("normal", "uniform"):
        return fill
    short = {key: float(f"{value:.1e}") for key, value in numbers.items()}
    if rule == "normal" and abs(short["mean"]) < short["std"]:
        return "normal"
    first, second = short.values()
    return {"constant": first} if rule == "uniform" and first == second else {rule: short}


def _key(noted: dict) -> str:
    """What makes a call another one."""
    taken: list[Any] = [
        [each["dtype"], each["shape"], each["strides"]] for each in noted["inputs"].values()
    ]
    return json.dumps([noted["call"], taken])


def _class(noted: dict) -> list[Any]:
    """The same of calls that differ only in sizes."""
    inputs = noted["inputs"].values()
    taken: list[Any] = [[each["dtype"], bool(each["shape"]), _layout(each)] for each in inputs]
    call = noted["call"]
    given: Any = [call["args"], call["kwargs"]]
    if call["op"].startswith(("aten::cat", "aten::stack")):
        taken = sorted(set(map(json.dumps, taken)))  # however many they are
        given = call["args"][1:]
    elif _SIZES.match(call["op"]):
        given = _sizeless(given)
    return [call["op"], given, taken, len({tuple(each["shape"]) for each in inputs}) > 1]


def _sizeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sizeless(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_sizeless(each) for each in value]
    return "n" if type(value) is int and value > 1 else value


def _layout(described: dict) -> str:
    """How a tensor lies in memory."""
    pairs = [(s, n) for s, n in zip(described["strides"], described["shape"]) if n > 1]
    if any(stride == 0 for stride, _ in pairs):
        return "expanded"
    for word, order in (("contiguous", pairs[::-1]), ("permuted", sorted(pairs))):
        expected = 1
        for stride, size in order:
            if stride != expected:
                break
            expected *= size
        else:
            return word
    return "gaps"
