#!/usr/bin/env python3
"""How small does `shrink` get?

    ci/bench/shrink/bench.py [--cases N] [--seed N] [--seconds S] [--minifier N] [--save-tensors
    DIR] [--out FILE] [GLOB...]

Needs LOCKSTEP_BINARY_DIR (with bin/lockstep) and LOCKSTEP_PYTHON, by which it wants to be run: the
programs need torch. Buries the divergences of ../explain/diagnoses.json in random programs of 12 to
30 steps, and shrinks what diverges there. Prints a table of the steps that are left, beside those
of the case that people made (RESULTS.md is one). If asked, it adds those that torch's own minifier
leaves."""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "ci"), str(ROOT / "ci" / "bench")]
import random_programs  # noqa: E402
from ratios import tell  # noqa: E402

FEWEST, MOST = 12, 30
#: What a case may have that is buried: all else belongs to one program alone.
BURIED = set(
    """
        $schema format title comment links tags context inputs steps outputs compare strides raises
    """.split()
)


def count(steps: list[dict[str, Any]]) -> int:
    """How many steps there are, those in blocks counted."""
    return sum(count(step["steps"]) if "with" in step else 1 for step in steps)


def can_be_buried(case: dict[str, Any]) -> bool:
    return set(case) <= BURIED and not any(
        "set" in step or str(step.get("op", "")).partition(".")[0].endswith("_")
        for step in case["steps"]
    )


def renamed(value: Any, names: dict[str, str]) -> Any:
    """A step of a program with other names."""
    if isinstance(value, dict):
        return {
            key: (
                [names.get(each, each) for each in child]
                if isinstance(child, list)
                else names.get(child, child)
            )
            if key == "let"
            else renamed(child, names)
            for key, child in value.items()
        }
    if isinstance(value, list):
        return [renamed(each, names) for each in value]
    if isinstance(value, str) and value.startswith("%") and not value.startswith("%%"):
        return re.sub(r"%(\w+)", lambda found: "%" + names.get(found[1], found[1]), value)
    return value


def around(seed: int, number: int) -> dict[str, Any]:
    """A random program with one call, no gradients and names of its own, whose size leaves room for
    a case."""
    while True:
        program = random_programs.make_program(seed, number)
        if (
            "backward" not in program
            and "calls" not in program
            and FEWEST <= len(program["steps"]) <= MOST - 6
        ):
            break
        number += 1000
    names = {name: f"r_{name}" for name in program["inputs"]}
    for step in program["steps"]:
        for name in step["let"] if isinstance(step["let"], list) else [step["let"]]:
            if name:
                names[name] = f"r_{name}"
    return {
        "inputs": {names[name]: spec for name, spec in program["inputs"].items()},
        "steps": [renamed(step, names) for step in program["steps"]],
        "outputs": [names[name] for name in program["outputs"]],
    }


def buried(case: dict[str, Any], seed: int, number: int) -> dict[str, Any]:
    """The case in the middle of a random program: its floating inputs come from two steps that
    change nothing, its first output goes into another one, and the steps of both are mixed."""
    draw, host = random.Random(f"{seed}/{number}"), around(seed, number)
    inputs, before, names = {}, [], {}
    viewed = {spec.get("view_of") for spec in case.get("inputs", {}).values()}
    for name, spec in case.get("inputs", {}).items():
        inputs[name] = spec
        if (
            str(spec.get("dtype", "")).startswith(("float", "bfloat"))
            and "8" not in spec["dtype"]
            and not set(spec) & {"requires_grad", "view_of", "constant", "zero_tensor"}
            and name not in viewed
        ):
            before += [
                {"let": f"r_{name}_n", "op": "neg", "args": [f"%{name}"]},
                {"let": f"r_{name}_p", "op": "neg", "args": [f"%r_{name}_n"]},
            ]
            names[name] = f"r_{name}_p"
    own = before + [renamed(step, names) for step in case["steps"]]
    if "raises" not in case:
        own.append({"let": "r_after", "op": "clone", "args": [f"%{case['outputs'][0]}"]})
    steps, left = [], [list(own), list(host["steps"])]
    while left[0] or left[1]:
        steps.append(left[draw.random() * (len(left[0]) + len(left[1])) >= len(left[0])].pop(0))
    outputs = case["outputs"] + host["outputs"] + (["r_after"] if "raises" not in case else [])
    return {
        **{key: case[key] for key in case if key not in ("$schema", "tags", "comment")},
        "title": f"Buried: {case['title']}"[:160],
        "inputs": {**inputs, **host["inputs"]},
        "steps": steps,
        "outputs": outputs,
    }


def lockstep() -> pathlib.Path:
    return pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"


def shrunk(file: pathlib.Path, path: str, seconds: float) -> dict[str, Any]:
    """What became of a case: the steps that are left, or 0, and the time."""
    out = file.with_suffix(".small.json")
    out.unlink(missing_ok=True)
    begin = time.monotonic()
    done = subprocess.run(
        [
            lockstep(),
            "shrink",
            file,
            "--path",
            path,
            "--seconds",
            str(seconds),
            "--no-cache",
            "--to",
            out,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    result: dict[str, Any] = {
        "seconds": time.monotonic() - begin,
        "left": 0,
        "said": done.stderr.strip().splitlines()[-1:],
    }
    if out.exists():
        result["left"] = count(json.loads(out.read_text("utf-8"))["steps"])
    return result


def run_in(folder: pathlib.Path, program: pathlib.Path, seconds: float, **environment: str) -> int:
    """The exit status of a Python program; 124 where it takes longer."""
    mine = {
        "TORCH_COMPILE_DEBUG_DIR": str(folder),
        "TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"),
        "TMPDIR": str(folder),
    }
    try:
        return subprocess.run(
            [os.environ["LOCKSTEP_PYTHON"], program],
            cwd=folder,
            env={**os.environ, **mine, **environment},
            timeout=seconds,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ).returncode
    except subprocess.TimeoutExpired:
        return 124


def minified(file: pathlib.Path, path: str, seconds: float) -> dict[str, Any]:
    """What torch's own minifier makes of the same program: the operators that are left, the time,
    and whether what it wrote still fails by itself. It takes what its own comparison, with a
    tolerance, sees, or what raises, first behind AOT autograd and then behind Dynamo; where that
    sees nothing there is nothing to minify."""
    begin = time.monotonic()
    program = subprocess.run(
        [lockstep(), "repro", file, "--path", path], stdout=subprocess.PIPE, check=True
    ).stdout
    for after in ("aot", "dynamo"):
        folder = file.with_suffix(f".{after}").absolute()
        folder.mkdir()
        script = folder / "script.py"
        script.write_bytes(program)
        asked = {"TORCHDYNAMO_REPRO_AFTER": after, "TORCHDYNAMO_REPRO_LEVEL": "4"}
        run_in(folder, script, seconds, **asked)
        for launcher in sorted(folder.rglob("minifier_launcher.py"))[:1]:
            run_in(folder, launcher, seconds, **asked)
            took = time.monotonic() - begin
            for repro in sorted(folder.rglob("repro.py"), key=lambda each: each.stat().st_mtime)[
                -1:
            ]:
                forward = (
                    repro.read_text("utf-8").partition("def forward(")[2].partition("return ")[0]
                )
                return {
                    "operators": len(re.findall(r"^\s+\w+ = (?!self\.)", forward, re.MULTILINE)),
                    "seconds": took,
                    "kept": run_in(folder, repro, seconds) not in (0, 124),
                }
    return {"operators": 0, "seconds": time.monotonic() - begin, "kept": False}


def minified_cells(found: dict[str, Any]) -> str:
    if not found["operators"]:
        return f"sees nothing | {found['seconds']:.0f} | -"
    return f"{found['operators']} | {found['seconds']:.0f} | {'yes' if found['kept'] else 'no'}"


def table(rows: list[dict[str, Any]]) -> str:
    beside = any("minified" in row for row in rows)
    lines = [
        "| divergence | steps by hand | buried in | left | times | seconds |"
        + (" torch's minifier leaves | seconds | fails by itself |" if beside else ""),
        "|---|---|---|---|---|---|" + ("---|---|---|" if beside else ""),
    ]
    for row in rows:
        kept = (
            f"{row['left']} | {row['left'] / row['by_hand']:.1f}"
            if row["left"]
            else "does not diverge | -"
        )
        more = (
            f" {minified_cells(row['minified'])} |"
            if "minified" in row
            else " | | |"
            if beside
            else ""
        )
        lines.append(
            f"| {row['id']} | {row['by_hand']} | {row['buried']} | {kept} | {row['seconds']:.0f} "
            f"|{more}"
        )
    kept_rows = [row for row in rows if row["left"]]
    if kept_rows:
        lines += [
            "",
            (
                f"Of {len(rows)}, {len(kept_rows)} diverge when buried. Median: "
                f"{statistics.median(r['left'] / r['by_hand'] for r in kept_rows):.2f} times the "
                "steps of the case by hand, "
                f"{statistics.median(r['seconds'] for r in kept_rows):.0f} s."
            ),
        ]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="ci/bench/shrink/bench.py")
    parser.add_argument("globs", nargs="*", metavar="GLOB")
    parser.add_argument("--cases", type=int, default=40, help="how many that diverge when buried")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=120, help="that each may take")
    parser.add_argument(
        "--minifier",
        type=int,
        default=0,
        metavar="N",
        help="give the first N that diverge to torch's own minifier as well",
    )
    parser.add_argument(
        "--save-tensors",
        type=pathlib.Path,
        help="a folder for the buried cases and what is left of them",
    )
    parser.add_argument(
        "--out", type=pathlib.Path, help="where to write the table; else it is printed"
    )
    options = parser.parse_args()
    diagnoses = json.loads(
        (ROOT / "ci" / "bench" / "explain" / "diagnoses.json").read_text("utf-8")
    )["diagnoses"]
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.save_tensors or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for number, each in enumerate(diagnoses):
            one, _, path = each["id"].rpartition("@cpu/")
            source = ROOT / "cases" / f"{one}.json"
            if (
                sum(row["left"] > 0 for row in rows) == options.cases
                or not source.exists()
                or (
                    options.globs
                    and not any(fnmatch.fnmatch(one, f"*{glob}*") for glob in options.globs)
                )
            ):
                continue
            case = json.loads(source.read_text("utf-8"))
            if not can_be_buried(case):
                continue
            file = folder / f"buried-{one.rpartition('/')[2]}.json"
            large = buried(case, options.seed, number)
            file.write_text(json.dumps(large, indent=1) + "\n", "utf-8")
            rows.append(
                {
                    "id": one,
                    "by_hand": count(case["steps"]),
                    "buried": count(large["steps"]),
                    **shrunk(file, path, options.seconds),
                }
            )
            if rows[-1]["left"] and sum("minified" in row for row in rows) < options.minifier:
                rows[-1]["minified"] = minified(file, path, options.seconds)
            print(f"{one}: {rows[-1]}", file=sys.stderr, flush=True)
            if options.out:
                options.out.write_text(table(rows), "utf-8")
    if not options.out:
        print(table(rows), end="")
    left = [row["left"] / row["by_hand"] for row in rows if row["left"]]
    tell("shrink, cases that diverge when buried", len(left) / max(1, len(rows)), "more")
    if left:
        tell("shrink, steps left in steps by hand", statistics.median(left), "less")
    return 0


if __name__ == "__main__":
    sys.exit(main())
