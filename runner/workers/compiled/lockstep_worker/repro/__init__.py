"""An instance as a standalone script: `write.py` writes it, `script/` is what it consists of.

`python -m lockstep_worker repro` reads one JSON request (write.py) from standard input and prints
the script.
"""

import json
import os
import sys

from ..problems import Malformed, Unsupported


def main() -> int:
    """Standard input to standard output; the exit status. The script is for people: what cannot be
    rendered is said in one line."""
    output = os.dup(1)  # what libraries print when they are loaded must not get into the script
    os.dup2(2, 1)
    from .write import render

    try:
        request = json.load(sys.stdin)
        text = render(request)
    except (Malformed, Unsupported, ValueError) as problem:
        print(f"lockstep: {problem}", file=sys.stderr)
        return 3
    with open(output, "w", encoding="utf-8") as script:
        script.write(text)
    return 0
