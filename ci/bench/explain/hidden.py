#!/usr/bin/env python3
"""How often `explain` names the greatest of several faults: random programs of 12 to 30 steps with
two or three faults hidden in each, of known place and size.

    ci/bench/explain/hidden.py [--seed N] [--programs N] [--seconds S] [--shrink S] [--keep FOLDER]

Each fault is executed alone, too: how far that moves the output says which one is the greatest.
Prints a line for each program, and the shares. With --shrink each is shrunk, too, for S seconds,
and what is left must be as far off as the whole, by ten times at most. --keep leaves programs,
paths and runs in a folder. Draw the seed once nothing is changed any more: without --seed it is
drawn by chance."""

import argparse
import json
import os
import pathlib
import random
import re
import secrets
import subprocess
import sys
import tempfile

import torch

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "ci"))
from random_programs import make_program  # noqa: E402

#: Two faults of about one size are both the greatest.
ALIKE = 1.25


#: Of ten programs with faults in two or three steps, some four have two that reach the output: a
#: comparison, a rounding or an integer swallows the others.
DRAWN = 3


def can_be_off(operator: str) -> bool:
    """Whether an operator gives one tensor of numbers, and AOT autograd does not take it apart."""
    name, _, its = operator.removeprefix("aten::").partition(".")
    schema = torch._C._get_schema(f"aten::{name}", "" if its == "default" else its)
    whole = f"aten::{name}" + (f".{its}" if its not in ("", "default") else "")
    composite = torch._C._dispatch_has_kernel_for_dispatch_key(whole, "CompositeImplicitAutograd")
    one = len(schema.returns) == 1 and str(schema.returns[0].type) == "Tensor"
    return one and not composite and name not in ("eq", "ne", "lt", "le", "gt", "ge")


def candidates(case: dict) -> list[str]:
    """The operators that a program calls once, so that a fault of one has one place."""
    operators = [step["op"] for step in case["steps"] if "op" in step]
    return [each for each in operators if operators.count(each) == 1 and can_be_off(each)]


def join(case: dict) -> None:
    """Adds the means of a few outputs up, so that all faults meet in one number."""
    total = ""
    for place, output in enumerate(case["outputs"][-4:]):
        wide, mean, added = f"wide{place}", f"mean{place}", f"added{place}"
        case["steps"] += [
            {"let": wide, "op": "to.dtype", "args": [f"%{output}", "float32"]},
            {"let": mean, "op": "mean", "args": [f"%{wide}"]},
        ]
        if total:
            case["steps"].append(
                {"let": added, "op": "add.Tensor", "args": [f"%{total}", f"%{mean}"]}
            )
        total = added if total else mean
    case["outputs"] = [total]
    prune(case)


def prune(case: dict) -> None:
    """Leaves out what the output does not need."""
    needed = set(case["outputs"])
    kept = []
    for step in reversed(case["steps"]):
        names = step["let"] if isinstance(step["let"], list) else [step["let"]]
        if needed & {name for name in names if name}:
            if isinstance(step["let"], list):
                step["let"] = [name if name in needed else None for name in step["let"]]
            kept.append(step)
            needed |= {word[1:] for word in re.findall(r"%\w+", json.dumps(step))}
    case["steps"] = kept[::-1]
    case["inputs"] = {name: each for name, each in case["inputs"].items() if name in needed}
    for key in ("compare", "constants"):
        case.pop(key, None)


def overload(operator: str) -> str:
    """As torch spells it: "aten.exp.default"."""
    name = operator.removeprefix("aten::")
    return "aten." + (name if "." in name else name + ".default")


def hide(seed: int, programs: int) -> list[tuple[dict, dict[str, float]]]:
    """Programs, each with its faults."""
    drawn = random.Random(seed)
    found: list[tuple[dict, dict[str, float]]] = []
    number = 0
    while len(found) < programs:
        number += 1
        case = make_program(seed, number)
        join(case)
        names = candidates(case)
        count = drawn.choice((2, 3))
        fits = 12 <= len(case["steps"]) <= 30 and len(names) >= count
        if not fits or {"backward", "calls", "prepare"} & set(case):
            continue
        off = {name: 10 ** drawn.uniform(-4, -1) for name in drawn.sample(names, count)}
        found.append((case, off))
    return found


def path_file(folder: pathlib.Path, name: str) -> pathlib.Path:
    """A path of a backend that torch.compile knows by that name."""
    declared = {
        "format": 2,
        "name": name.replace("_", "-"),
        "title": "Hidden faults",
        "layer": "the backend",
        "above": "eager",
        "contract": "values",
        "default": False,
        "worker": "compiled",
        "backend": name,
        "mode": None,
        "dynamic": False,
        "fullgraph": True,
        "import": ["lockstep_hidden"],
        "may_call": ["*"],
        "config": {},
        "environment": {"PYTHONPATH": str(HERE), "LOCKSTEP_HIDDEN": str(folder / "table.json")},
        "devices": ["cpu"],
    }
    file = folder / "paths" / f"{declared['name']}.json"
    file.write_text(json.dumps(declared), encoding="utf-8")
    return file


def run(folder: pathlib.Path, name: str, paths: list[pathlib.Path], *more: str) -> list[dict]:
    """The records of a run of all programs on these paths."""
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    arguments: list[str | pathlib.Path] = [
        str(folder / "cases") + "/",
        "--no-expectations",
        "--out",
        folder / name,
        *more,
    ]
    for path in paths:
        arguments += ["--path-file", path, "--path", path.stem]
    subprocess.run([binary, "run", *arguments], stdout=subprocess.DEVNULL, check=False)
    return [
        json.loads(line) for line in (folder / name / "run.jsonl").read_text("utf-8").splitlines()
    ]


def moved(records: list[dict]) -> dict[tuple[str, str], dict[str, float]]:
    """How far each output is off, by case and path."""
    return {
        (each["id"].split("@")[0], each["path"]): {
            output["name"]: output.get("max_abs") or 0.0 for output in each.get("outputs", [])
        }
        for each in records
        if each["type"] == "verdict"
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--programs", type=int, default=60)
    parser.add_argument("--seconds", type=int, default=1800)
    parser.add_argument("--shrink", type=int, metavar="S")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    print(f"seed {seed}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or pathlib.Path(scratch)).resolve()
        for each in ("cases", "paths"):
            (folder / each).mkdir(parents=True)
        hidden = hide(seed, DRAWN * options.programs)
        table: dict[str, dict[str, float]] = {}
        whole, single = [], []
        for place, (case, off) in enumerate(hidden):
            faults = {overload(name): size for name, size in off.items()}
            table[f"hidden_p{place}_all"] = faults
            whole.append(path_file(folder, f"hidden_p{place}_all"))
            for k, (name, size) in enumerate(faults.items()):
                table[f"single_p{place}_{k}"] = {name: size}
                single.append(path_file(folder, f"single_p{place}_{k}"))
            only = [f"hidden-p{place}-*", f"single-p{place}-*", "eager", "eager-python"]
            case["only"] = {"paths": only}
            (folder / "cases" / f"{place}.json").write_text(json.dumps(case), encoding="utf-8")
        (folder / "table.json").write_text(json.dumps(table), encoding="utf-8")
        alone = moved(run(folder, "singles", single))
        told: list[pathlib.Path] = []
        for place, path in enumerate(whole):
            sizes = [
                max(alone.get((str(place), f"single-p{place}-{k}"), {"": 0.0}).values(), default=0)
                for k in range(len(hidden[place][1]))
            ]
            if sum(size > 0 for size in sizes) > 1 and len(told) < options.programs:
                told.append(path)
        records = run(folder, "whole", told, f"--explain={options.seconds}")
        judge(hidden, alone, records)
        if options.shrink is not None:
            shrink(folder, records, options.shrink)


def shrink(folder: pathlib.Path, records: list[dict], seconds: int) -> None:
    """Shrinks what diverges, executes what is left, and prints how many are as far off as it."""
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    whole = [each for each in records if each.get("status") == "value_diverges" and "path" in each]
    kept, steps = 0, []
    for verdict in whole:
        case, path = verdict["id"].split("@")[0], folder / "paths" / f"{verdict['path']}.json"
        small = folder / "small" / case / "case.json"
        small.parent.mkdir(parents=True)
        here: list[str | pathlib.Path] = ["--path-file", path, "--path", path.stem]
        asked = [verdict["id"], "--case-file", folder / "cases" / f"{case}.json", *here]
        told = ["--seconds", str(seconds), "--to", small]
        subprocess.run([binary, "shrink", *asked, *told], capture_output=True, check=False)
        if not small.exists():
            print(f"{verdict['id']}: not shrunk")
            continue
        out = ["--no-expectations", "--out", small.parent / "run"]
        subprocess.run([binary, "run", small, *here, *out], capture_output=True, check=False)
        log = (small.parent / "run" / "run.jsonl").read_text("utf-8").splitlines()
        found = [each for each in map(json.loads, log) if each["type"] == "verdict"]
        same = any(alike(verdict, each) for each in found if each["path"] == path.stem)
        kept += same
        steps.append(len(json.loads(small.read_text("utf-8"))["steps"]))
        print(f"{verdict['id']}: {steps[-1]} steps, {'as far off' if same else 'ANOTHER'}")
    print(f"{len(whole)} shrunk to {sum(steps) / max(1, len(steps)):.1f} steps, {kept} as far off")


def alike(whole: dict, small: dict) -> bool:
    """Whether two verdicts are of one magnitude, absolute or as a fraction of eager's number."""
    for key in ("max_abs", "max_rel"):
        before = max((output.get(key) or 0.0 for output in whole["outputs"]), default=0.0)
        after = max((output.get(key) or 0.0 for output in small["outputs"]), default=0.0)
        if before and before / 10 <= after <= before * 10:
            return small["status"] == whole["status"]
    return False


def judge(hidden: list, alone: dict, records: list[dict]) -> None:
    """Prints what was named, and the shares."""
    explained = {each["id"]: each for each in records if each["type"] == "explanation"}
    right = wrong = innocent = silent = open_ = 0
    for verdict in (each for each in records if each["type"] == "verdict"):
        if verdict["status"] != "value_diverges":
            print(f"{verdict['id']}: {verdict['status']}, {verdict.get('reason', '')[:100]}")
            continue
        place = int(verdict["path"].split("-")[1].removeprefix("p"))
        off = list(hidden[place][1])
        answer = explained.get(verdict["id"])
        if answer is None:
            open_ += 1
            continue
        case = verdict["id"].split("@")[0]
        sizes = [
            alone.get((case, f"single-p{place}-{k}"), {}).get(answer.get("output", ""), 0.0)
            for k in range(len(off))
        ]
        if sum(size > 0 for size in sizes) < 2:
            continue  # one alone reaches the output
        greatest = {
            name for name, size in zip(off, sizes, strict=True) if size * ALIKE >= max(sizes)
        }
        steps = [step.get("op", "") for step in answer["steps"]]
        named = [steps[at] for at in answer.get("guilty", [])]
        spelled = {each.removeprefix("aten::").removesuffix(".default") for each in greatest}
        faulty = {each.removeprefix("aten::").removesuffix(".default") for each in off}
        hit = bool(named) and bool(spelled & set(named))
        accused = answer.get("certain", False) and not faulty & set(named) and bool(named)
        right += hit
        wrong += bool(named) and not hit
        silent += not named
        innocent += accused
        print(f"{verdict['id']}: named {named or 'nobody'}, greatest {sorted(spelled)}, of "
              f"{dict(zip(off, sizes, strict=True))}{' INNOCENT' if accused else ''}")  # fmt: skip
    count = right + wrong + silent
    print(f"{count} explained, {open_} not for lack of time")
    print(f"the greatest is named in {right}, another in {wrong}, nobody in {silent}")
    print(f"an innocent step is stated as certain in {innocent}")


if __name__ == "__main__":
    main()
