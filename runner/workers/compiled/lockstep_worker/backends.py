"""What torch has, for `lockstep check`: backends, once a path's modules are there, and functions.

`python -m lockstep_worker backends` reads a JSON object, `import` and `libraries` of a path and the
`functions` that cases call, from standard input, and prints one: `torch`, `backends` and
`functions`, what is wrong with those that no worker can call; or `error` where a module cannot be
imported."""

import json
import os
import sys

import torch

from .configure import import_modules
from .names import public_function
from .problems import Malformed, Unsupported


def _wrong_with(names: list[str]) -> dict[str, str]:
    """By name, why the worker cannot call a function."""
    wrong = {}
    for name in names:
        try:
            public_function(name)
        except (Malformed, Unsupported) as problem:
            wrong[name] = str(problem)
    return wrong


def main() -> int:
    """Standard input to standard output; the exit status."""
    output = os.dup(1)  # what modules print when they are imported is no answer
    os.dup2(2, 1)
    request = json.load(sys.stdin)
    try:
        for library in request.get("libraries") or []:
            torch.ops.load_library(library)
        import_modules(request.get("import"))
        answer = {
            "torch": torch.__version__,
            "backends": torch.compiler.list_backends(exclude_tags=()),
            "functions": _wrong_with(request.get("functions") or []),
        }
    except (Malformed, Unsupported, OSError) as problem:
        answer = {"error": str(problem)}
    with open(output, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    return 0
