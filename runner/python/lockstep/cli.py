"""The command `lockstep`: tells the runner where everything is, then becomes it."""

import os
import shlex
import sys

from lockstep import eager, places, torch_facts
from lockstep.places import Refusal, say


def how_called() -> str:
    """What to type to call Lockstep the same way again: the runner prints it in its commands."""
    if os.path.basename(sys.argv[0]) == "__main__.py":
        python = sys.executable
        return f"{shlex.quote(python)} -m lockstep"
    return "lockstep"


def environment() -> dict[str, str]:
    """What the runner reads of the environment, as far as the user has not set it."""
    told = dict(os.environ)
    told.setdefault("LOCKSTEP_HOME", str(places.suite()))
    told.setdefault("LOCKSTEP_PYTHON", sys.executable)
    told.setdefault("LOCKSTEP_COMMAND", how_called())
    told["LOCKSTEP_CACHE"] = str(places.cache())
    if "LOCKSTEP_EAGER" not in told:
        told["LOCKSTEP_PROVIDER"] = str(places.PACKAGE / "provide.py")
        try:
            facts = torch_facts.facts_of(told["LOCKSTEP_PYTHON"])
            recipe = eager.Recipe(facts, eager.compiler())
            told["LOCKSTEP_EAGER"] = str(recipe.program)
        except (Refusal, torch_facts.NoTorch, OSError):
            # Much can be asked of Lockstep without torch; what needs it asks the provider, who says
            # why.
            told["LOCKSTEP_EAGER"] = str(places.cache() / "eager" / "none" / "lockstep-eager")
    return told


def main() -> int:
    """Becomes the runner; returns an exit status only where there is none."""
    runner = os.environ.get("LOCKSTEP_RUNNER") or str(places.PACKAGE / "bin" / "lockstep")
    try:
        os.execve(runner, ["lockstep", *sys.argv[1:]], environment())
    except OSError as error:
        say(f"{runner} cannot be run: {error.strerror}. Install the package again.")
    return 3
