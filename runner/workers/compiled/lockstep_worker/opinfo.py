"""Which operators torch tests itself: the names of its OpInfo database, for `lockstep coverage
--opinfo`.

`python -m lockstep_worker opinfo` prints a JSON object: `torch` and `names`, each name with the
aten operators and public functions by which a case may call it, or `error` where the database
cannot be read."""

import json
import os
import re
import sys
from typing import Any

#: What stands behind names of Python's own: attributes, indexing, functions that only pass on.
_BEHIND = {
    "T": ["numpy_T"],
    "H": ["matrix_H"],
    "__getitem__": ["index", "select", "slice"],
    "__rdiv__": ["div"],
    "__rmod__": ["remainder"],
    "nn.functional.upsample_bilinear": ["upsample_bilinear2d"],
    "nn.functional.upsample_nearest": ["upsample_nearest2d"],
}
_REFLECTED = re.compile(r"__r(\w+)__")


def candidates(entry: Any) -> list[str]:
    """Names by which a case may call an entry of the database. In aten: what it says itself, its
    name with underscores ("linalg.norm": `aten::linalg_norm`), the last part of its name
    ("nn.functional.relu": `aten::relu`), the operator whose operands it exchanges ("__radd__":
    `aten::add`). As a public function of torch: `torch.nn.functional.softsign`."""
    name = re.sub(r"^torch\.(ops\.aten\.)?|\.default$", "", entry.name)
    names = [
        entry.aten_name,
        name.replace(".", "_"),
        name.rsplit(".", 1)[-1],
        *_BEHIND.get(name, ()),
    ]
    if reflected := _REFLECTED.fullmatch(name):
        names += [reflected[1], f"bitwise_{reflected[1]}"]
    return sorted(
        {
            *(f"aten::{each}" for each in names if each),
            *(f"{module}.{name}" for module in ("torch", "torch.Tensor", "torch.functional")),
        }
    )


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
        answer = {
            "torch": torch.__version__,
            "names": {name: sorted(found[name]) for name in sorted(found)},
        }
    except ImportError as problem:
        answer = {"error": f"cannot read torch's OpInfo database: {problem}"}
    with open(output, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    return 0
