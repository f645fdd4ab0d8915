"""Provides the eager worker of the interpreter that runs this file; prints where it is.

The runner calls it when it needs the worker (LOCKSTEP_PROVIDER names this file). Exit status 1:
there is none, and stderr says why."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lockstep import eager, torch_facts
from lockstep.places import Refusal, say


def main() -> int:
    try:
        print(eager.provide(eager.Recipe(torch_facts.facts(), eager.compiler())))
    except (Refusal, torch_facts.NoTorch) as no:
        say(str(no))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
