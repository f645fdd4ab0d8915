"""Does the compiled program compute what eager computes? This script needs torch and nothing else.

Exit status: 0 they agree as Lockstep's judge demands, 1 they do not, 125 it cannot be told (`git
bisect run` skips that). It cannot be told if this torch lacks something, if the compiler says that
it does not support the program, or if eager disagrees with itself. Nor can it be told if a third,
more exact result (a gold) decides, which only Lockstep makes.

  python THIS_FILE
  TORCH_COMPILE_BACKEND=aot_eager python THIS_FILE
  git bisect run python THIS_FILE
  TORCHINDUCTOR_CACHE_DIR=$(mktemp -d) python -m torch._inductor.compiler_bisector run python
  THIS_FILE

The last one names the backend and the part of it; it empties its cache directory. It takes 125 for
a difference. SETTINGS say how the program is compiled and compared; the program and its inputs
follow."""

import os
import sys
from typing import NoReturn


class CannotTell(Exception):
    """Neither "they agree" nor "they do not" can be claimed; the message says why."""


def cannot_run(why: object) -> NoReturn:
    """Ends the process as `git bisect run` wants it of a torch that cannot be judged."""
    print(f"cannot run: {why}")
    sys.exit(125)


def begin(environment: dict[str, str]) -> None:
    """Sets the path's environment, which torch reads when it is imported, and imports torch. What
    holds a list of folders keeps those that it has."""
    for name, value in environment.items():
        if name in ("PYTHONPATH", "LD_LIBRARY_PATH", "PATH"):
            value = os.pathsep.join(filter(None, (value, os.environ.get(name))))
        os.environ[name] = value
    sys.path[:0] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    # A reproducer compiles anew, or a bisection would look at what was compiled before.
    for name in ("TORCHINDUCTOR_FX_GRAPH_CACHE", "TORCHINDUCTOR_AUTOGRAD_CACHE"):
        os.environ.setdefault(name, "0")
    if sys.version_info < (3, 10):  # noqa: UP036  whoever gets a script may have any Python
        cannot_run("this script needs Python 3.10")
    try:
        import torch  # noqa: F401
    except ImportError as error:
        cannot_run(error)
