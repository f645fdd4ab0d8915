"""Which backends torch has once a path's modules are imported, for `lockstep check`.

`python -m lockstep_worker backends` reads a JSON object, `import` and `libraries` of a path, from
standard input, and prints one: `torch` and `backends`, or `error` where a module cannot be
imported."""

import json
import os
import sys

import torch

from .configure import import_modules
from .problems import Malformed, Unsupported


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
        }
    except (Malformed, Unsupported, OSError) as problem:
        answer = {"error": str(problem)}
    with open(output, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    return 0
