#!/usr/bin/env python3
"""Does `explain` say the same of a program, however it is written? Chains of everyday functions
with one cast to a short dtype and back, whose rounding Inductor drops: as operators and as public
functions, by default, under `bits` and under `close`.

    ci/bench/explain/spelled.py [--seed N] [--programs N] [--keep FOLDER]

Needs LOCKSTEP_BINARY_DIR. Prints a line for each program with what is named, and how many are named
alike in all spellings. A program that does not diverge in one of them is counted apart."""

import argparse
import json
import os
import pathlib
import random
import secrets
import subprocess
import tempfile
from typing import Any

NN = "torch.nn.functional."
WIDTH = 16
#: Operator, its arguments after the first, and the same as a function with its keywords.
FUNCTIONS: list[tuple[str, list, str, list, dict]] = [
    ("gelu", [], NN + "gelu", [], {}),
    ("relu", [], NN + "relu", [], {}),
    ("silu", [], NN + "silu", [], {}),
    ("softplus", [], NN + "softplus", [], {}),
    ("tanh", [], "torch.tanh", [], {}),
    ("sigmoid", [], "torch.sigmoid", [], {}),
    ("softmax.int", [-1], NN + "softmax", [], {"dim": -1}),
    ("layer_norm", [[WIDTH]], NN + "layer_norm", [[WIDTH]], {}),
    ("linear", ["%w"], NN + "linear", ["%w"], {}),
]
#: How each program is written: whether by functions, and under which policy.
SPELLINGS = {
    "op": (False, None),
    "call": (True, None),
    "bits": (False, "bits"),
    "close": (False, "close"),
}


def program(drawn: random.Random) -> list[Any]:
    """Functions in their order, None for the cast and back."""
    count = drawn.randint(4, 8)
    chosen: list[Any] = [drawn.choice(FUNCTIONS) for _ in range(count)]
    chosen.insert(drawn.randint(1, count - 1), None)
    return chosen


def case(chosen: list[Any], short: str, by_functions: bool, policy: str | None) -> dict:
    """The program as a case."""
    steps, now = [], "x"
    for place, each in enumerate(chosen):
        if each is None:
            steps += [
                {"let": "short", "op": "to.dtype", "args": [f"%{now}", short]},
                {"let": "wide", "op": "to.dtype", "args": ["%short", "float32"]},
            ]
            now = "wide"
            continue
        operator, more, function, given, named = each
        step: dict = {"let": f"v{place}"}
        if by_functions:
            step |= {"call": function, "args": [f"%{now}", *given]}
            step |= {"kwargs": named} if named else {}
        else:
            step |= {"op": operator, "args": [f"%{now}", *more]}
        steps.append(step)
        now = step["let"]
    inputs = {"x": {"dtype": "float32", "shape": [8, WIDTH], "fill": {"normal": {}, "seed": 1}}}
    if any(each is not None and each[0] == "linear" for each in chosen):
        weight = {"dtype": "float32", "shape": [WIDTH, WIDTH]}
        inputs["w"] = weight | {"fill": {"normal": {"std": 0.5}, "seed": 2}}
    written = {"format": 1, "title": "A chain", "inputs": inputs, "steps": steps, "outputs": [now]}
    return written | ({"compare": {now: policy}} if policy else {})


def explained(file: pathlib.Path) -> dict | None:
    """What is said of a case on `inductor`; None where it does not diverge there."""
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    done = subprocess.run(
        [binary, "explain", file, "--path", "inductor", "--json"], capture_output=True, text=True
    )
    answer = json.loads(done.stdout)
    return answer if answer["status"] == "value_diverges" else None


def named(answer: dict) -> tuple:
    """Layer, steps and settings that end it."""
    steps = sorted(answer["steps"][at]["name"] for at in answer.get("guilty", []))
    ends = sorted(knob["name"] for knob in answer.get("knobs", []) if knob.get("ends"))
    return answer.get("layer", ""), tuple(steps), tuple(ends)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--programs", type=int, default=30)
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    print(f"seed {seed}")
    drawn, alike, apart, mixed = random.Random(seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = (options.keep or pathlib.Path(scratch)).resolve()
        for number in range(options.programs):
            chosen, short = program(drawn), drawn.choice(("float16", "bfloat16"))
            answers = {}
            for name, (by_functions, policy) in SPELLINGS.items():
                file = folder / f"{number}-{name}.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(json.dumps(case(chosen, short, by_functions, policy)), "utf-8")
                answers[name] = explained(file)
            says = {name: named(answer) for name, answer in answers.items() if answer}
            if not says:
                apart += 1
                print(f"{number}: conforms")
            elif len(set(says.values())) == 1:
                whole = len(says) == len(SPELLINGS)
                alike += whole
                mixed += not whole
                print(f"{number}: {sorted(says)} name {next(iter(says.values()))}", flush=True)
            else:
                print(f"{number}: OTHERWISE {says}", flush=True)
    print(f"of {options.programs} programs {apart} conform in every spelling; {mixed} diverge in "
          f"some, which name the same; {alike} are named alike in all")  # fmt: skip


if __name__ == "__main__":
    main()
