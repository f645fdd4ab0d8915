"""An instance as a standalone script: `write.py` writes it of the case's own text and of what it
needs of `script/`, which judges, and of `execution/`; `brief.py` writes the few lines that a public
report has room for.

`python -m lockstep_worker repro` reads JSON from standard input: a request (write.py), and prints
the script; or `{"brief": [request, ...]}`, and prints a JSON list of their brief scripts, each a
string or `{"unsupported": why}`."""

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
        briefs = request.get("brief")
        text = render(request) if briefs is None else json.dumps([_brief(each) for each in briefs])
    except (Malformed, Unsupported, ValueError, OSError) as problem:
        print(f"lockstep: {problem}", file=sys.stderr)
        return 3
    with open(output, "w", encoding="utf-8") as script:
        script.write(text)
    return 0


def _brief(request: dict) -> "str | dict":
    from .brief import render

    try:
        return render(request)
    except Unsupported as problem:
        return {"unsupported": str(problem)}
