#!/usr/bin/env python3
"""How this suite compares with two of PyTorch's own: a row for each of their operators.

The strict suite (PyTorch pull request 196029) asks of every pointwise operator of OpInfo whether
Inductor has eager's bits, forward and backward: float32, bfloat16 and float16, layouts, and all
patterns of 16 bits. The suite of properties (test/inductor/test_torchinductor_opinfo_properties.py)
asks operators of language models for three things: eager's bits, the same bits again, and the bits
of rows whatever the size of the batch. Both run on CUDA alone.

    ci/bench/yardstick/table.py BINARY [RUN…] > ci/bench/yardstick/RESULTS.md

BINARY is the runner's; of RUNs, which are directories of runs, the table says what differed. It
needs `pip install expecttest`, as torch's own tests do."""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]

#: What the strict suite counts as pointwise beside what OpInfo calls unary and binary functions.
MORE = frozenset(
    """
        addcmul addcdiv clamp lerp where masked_fill logaddexp2 masked.logaddexp nn.functional.gelu
        nn.functional.hardswish nn.functional.leaky_relu native_dropout_backward
    """.split()
)
#: What the suite of properties takes: the names of OpInfo.
PROPERTIES = frozenset(
    """
        abs neg reciprocal exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan tanh sigmoid
        nn.functional.relu6 sub mul remainder fmod maximum minimum nn.functional.gelu
        nn.functional.silu nn.functional.leaky_relu nn.functional.hardswish
        nn.functional.layer_norm nn.functional.rms_norm nn.functional.linear bmm softmax log_softmax
    """.split()
)
#: Why nobody asks an operator: of the strict suite, which skips them, too, and of ours.
NOT_ASKED = {
    "jiterator_unary": "makes a CUDA kernel of its own; the strict suite skips it, too",
    "jiterator_binary": "makes a CUDA kernel of its own; the strict suite skips it, too",
    "jiterator_binary_return_by_ref": "makes a CUDA kernel; the strict suite skips it, too",
}
#: What a case calls in the place of a function of Python's.
BEHIND = {
    "masked.logaddexp": ["aten::logaddexp"],
    "nn.functional.logsigmoid": ["aten::log_sigmoid"],
    "nn.functional.softsign": ["torch.nn.functional.softsign"],
    "nn.functional.tanhshrink": ["torch.nn.functional.tanhshrink"],
}
#: Casts that have methods, by what a case writes.
CASTS = {
    "bfloat16": "bfloat16", "bool": "bool", "byte": "uint8", "cdouble": "complex128",
    "cfloat": "complex64", "chalf": "complex32", "char": "int8", "double": "float64",
    "float": "float32", "half": "float16", "int": "int32", "long": "int64", "short": "int16",
}  # fmt: skip
FLOATS = ("float32", "bfloat16", "float16")


@dataclasses.dataclass
class Row:
    """One entry of OpInfo."""

    name: str
    operators: set[str]  #: by which a case may call it, without overloads
    backward: bool = False
    integers: bool = False  #: it takes no float32
    strict: bool = False  #: the strict suite has it

    @property
    def properties(self) -> bool:
        return self.name in PROPERTIES


@functools.cache
def rows() -> list[Row]:
    """What the two suites ask, by torch's own tables."""
    import torch
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.opinfo.core import BinaryUfuncInfo, UnaryUfuncInfo

    # By which operators a case may call each, `lockstep coverage --opinfo` asks, too.
    said = subprocess.run(
        [sys.executable, "-m", "lockstep_worker", "opinfo"], input="{}", text=True, check=True,
        capture_output=True, cwd=ROOT / "runner" / "workers" / "compiled",
    )  # fmt: skip
    callable_as = json.loads(said.stdout)["names"]
    found: dict[str, Row] = {}
    for entry in op_db:
        strict = isinstance(entry, (UnaryUfuncInfo, BinaryUfuncInfo)) or entry.name in MORE
        if not strict and entry.name not in PROPERTIES:
            continue
        names = [*callable_as[entry.name], *BEHIND.get(entry.name, ())]
        row = found.setdefault(entry.name, Row(entry.name, set()))
        row.operators |= {name for name in names if name.count(".") or name.startswith("aten::")}
        row.backward |= strict and entry.supports_autograd
        row.integers |= torch.float32 not in entry.supported_dtypes("cpu")
        row.strict |= strict
    return [found[name] for name in sorted(found)]


@dataclasses.dataclass
class Asked:
    """What this suite asks of one row: instances."""

    forward: dict[str, set[str]]  #: by dtype
    patterns: set[str]  #: on every pattern of 16 bits, or the special ones and a sample of 32
    backward: set[str]
    batch: set[str]  #: of rows alone, and again

    def everything(self) -> set[str]:
        """All of them."""
        return self.patterns | self.backward | self.batch | set().union(*self.forward.values())


def instances(binary: str) -> list[dict]:
    """Every instance of the suite, with its operators and dtypes."""
    listed = subprocess.run(
        [binary, "list", "--level", "full", "--json"], capture_output=True, text=True, check=True,
        env={"LOCKSTEP_HOME": str(ROOT), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    return json.loads(listed.stdout)


def _backward(instance: dict, files: dict[str, bool]) -> bool:
    """Whether it asks for gradients."""
    if chosen := re.search(r"pass=(\w+)", instance["id"]):
        return chosen[1] == "backward"
    file = instance["file"]
    if file not in files:
        case = json.loads((ROOT / file).read_text("utf-8"))
        text = json.dumps([case.get("steps"), case.get("sweep")])
        files[file] = "backward" in case or '"grad":' in text
    return files[file]


def asked(row: Row, by_operator: dict[str, list[dict]], files: dict[str, bool]) -> Asked:
    """What the suite asks of a row."""
    found = Asked(collections.defaultdict(set), set(), set(), set())
    to = CASTS.get(row.name)
    operators = row.operators | ({"aten::to"} if to else set())
    for instance in {
        id(each): each for name in operators for each in by_operator.get(name, ())
    }.values():
        name = instance["id"]
        if to and not re.search(rf"[\[,](to={to}|o?f={row.name})[\],]", name):
            continue
        if name.startswith("relations/"):
            found.batch.add(name)
            continue
        if _backward(instance, files):
            found.backward.add(name)
        if name.startswith("sweeps/") and "layouts" not in name:
            found.patterns.add(name)
        for dtype in instance["dtypes"]:
            found.forward[dtype].add(name)
    return found


def missing(row: Row, ours: Asked) -> list[str]:
    """What the two suites ask of a row and this one does not."""
    gaps: list[str] = []
    if row.name in NOT_ASKED:
        return gaps
    if row.strict and not row.integers:
        gaps += [dtype for dtype in FLOATS if not ours.forward.get(dtype)]
        gaps += [] if ours.patterns else ["patterns"]
    if row.integers and not any(ours.forward.values()):
        gaps.append("integers")
    if row.backward and not ours.backward:
        gaps.append("backward")
    if row.properties and not ours.batch:
        gaps.append("batch")
    return gaps


def verdicts(runs: list[str]) -> dict[str, set[str]]:
    """What runs say of instances: `conform`, `known` or `failing`; of a verdict the last one."""
    said: dict[str, tuple[str, str]] = {}
    for run in runs:
        with open(pathlib.Path(run) / "run.jsonl", encoding="utf-8") as log:
            for line in log:
                if not line.startswith('{"type":"verdict"'):
                    continue
                each = json.loads(line)
                word = each["status"]
                if word in ("unsupported", "refused", "skipped"):
                    continue
                if word != "conform":
                    known = each.get("standing") in ("known", "waived")
                    word = "known" if known else "failing"
                said[each["id"]] = each["instance"], word
    found: dict[str, set[str]] = collections.defaultdict(set)
    for instance, word in said.values():
        found[instance].add(word)
    return found


def torch_of(run: str) -> str:
    """The torch of a run, by its log."""
    with open(pathlib.Path(run) / "run.jsonl", encoding="utf-8") as log:
        said = (re.search(r'"torch":"([^"]+)"', line) for line in log)
        return next(found[1] for found in said if found)


def found_by(runs: list[str], ours: Asked, said: dict[str, set[str]]) -> str:
    """The cell of what differed."""
    if not runs:
        return "–"
    counts = collections.Counter(word for name in ours.everything() for word in said.get(name, ()))
    order = ("conform", "known", "failing")
    return ", ".join(f"{counts[word]} {word}" for word in order if counts[word]) or "–"


def all_asked(binary: str) -> list[tuple[Row, Asked]]:
    """Every row, with what this suite asks of it."""
    by_operator: dict[str, list[dict]] = collections.defaultdict(list)
    for instance in instances(binary):
        for operator in instance["operators"]:
            by_operator[operator.split(".")[0] if "::" in operator else operator].append(instance)
    files: dict[str, bool] = {}
    return [(row, asked(row, by_operator, files)) for row in rows()]


def table(binary: str, runs: list[str]) -> str:
    """The page."""
    import torch

    said, lines, gaps = verdicts(runs), [], []
    of: collections.Counter = collections.Counter()
    for row, ours in all_asked(binary):
        lacking = missing(row, ours)
        gaps += [f"- `{row.name}`: {', '.join(lacking)}"] if lacking else []
        of.update(
            {"strict": row.strict, "backward": row.backward, "properties": row.properties,
             "lacking": bool(lacking)}
        )  # fmt: skip
        cells = [
            f"`{row.name}`",
            *(str(len(ours.forward.get(dtype, ()))) for dtype in FLOATS),
            *(str(len(each)) for each in (ours.patterns, ours.backward)),
            str(len(ours.batch) or "–"),
            NOT_ASKED.get(row.name) or found_by(runs, ours, said),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    total, torches = len(lines), sorted({torch_of(run) for run in runs})
    return "\n".join(
        [
            "# A yardstick: PyTorch's own two suites",
            "",
            "Written by `ci/bench/yardstick/table.py`, which says what the two suites are.",
            "",
            f"By the OpInfo database of torch {torch.__version__.split('+')[0]} they ask of {total}"
            f" names: {of['strict']} for bits forward, {of['backward']} of them backward, and"
            f" {of['properties']} for properties. This suite asks all that of"
            f" {total - of['lacking']} of them, on every device, by so many instances."
            + "".join(f" What differed is of torch {version}." for version in torches)
            + " Where it did and is known, `expected/` has the reason.",
            "",
            "| name | float32 | bfloat16 | float16 | patterns | backward | relations | verdicts |",
            "|---|---|---|---|---|---|---|---|",
            *lines,
            "",
            *(["Not asked yet:", "", *gaps, ""] if gaps else []),
        ]
    )


if __name__ == "__main__":
    sys.stdout.write(table(sys.argv[1], sys.argv[2:]))
