"""`python -m lockstep`; in a clone, `python runner/python/lockstep/__main__.py`, as ci/lockstep
calls it."""

import pathlib
import sys

if not __package__:
    sys.path[0] = str(pathlib.Path(__file__).resolve().parents[1])

from lockstep.cli import main

sys.exit(main())
