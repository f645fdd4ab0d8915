"""Which operators modules of a user's register, for whoever checks cases.

`python -m lockstep_worker operators` reads a JSON object, `modules` and `libraries`, from standard
input, and prints one: `operators`, by their names in the dispatcher, and `error` where a module
cannot be imported."""

import json
import os
import sys

import torch

from .compat import operators
from .configure import load_module
from .problems import Unsupported


def main() -> int:
    """Standard input to standard output; the exit status."""
    output = os.dup(1)  # what modules print when they are imported is no answer
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    for library in request.get("libraries") or []:
        torch.ops.load_library(library)
    before = set(operators.names())
    answer: dict[str, object] = {}
    for module in request.get("modules") or []:
        try:
            load_module(str(module))
        except Unsupported as problem:
            answer["error"] = str(problem)
    answer["operators"] = sorted(set(operators.names()) - before)
    with open(output, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    return 0
