"""Which operators torch tests itself: the names of its OpInfo database, for `lockstep coverage --opinfo`.

`python -m lockstep_worker opinfo` prints a JSON object: `torch` and `names`, each name with the aten operators that may stand
behind it, or `error` where the database cannot be read.
"""

import json
import os
import sys
from typing import Any


def candidates(entry: Any) -> list[str]:
    """Names in aten by which an entry of the database may be called: what it says itself, its name with underscores
    ("linalg.norm": `linalg_norm`), and the last part of its name ("nn.functional.relu": `relu`)."""
    names = [entry.aten_name, entry.name.replace(".", "_"), entry.name.rsplit(".", 1)[-1]]
    return sorted({name for name in names if name})


def main() -> int:
    """To standard output; the exit status."""
    output = os.dup(1)  # what modules print when they are imported is no answer
    os.dup2(2, 1)
    json.load(sys.stdin)
    try:
        import torch

        from .compat import operators
        found: dict[str, set[str]] = {}
        for entry in operators.opinfo():
            found.setdefault(entry.name, set()).update(candidates(entry))
        answer = {"torch": torch.__version__, "names": {name: sorted(found[name]) for name in sorted(found)}}
    except ImportError as problem:
        answer = {"error": f"cannot read torch's OpInfo database: {problem}"}
    with open(output, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    return 0
