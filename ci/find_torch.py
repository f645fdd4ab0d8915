"""Prints where this interpreter's torch is, one fact a line, without importing it (which costs
seconds).

Lines: torch's folder, its version, its CUDA version or "none", the Python version, "yes" if
Python.h is there. Exit status 1 and one sentence on stderr if there is no torch or if Python is too
old."""

import importlib.util
import os
import sys
import sysconfig

if sys.version_info < (3, 10):
    sys.exit(
        "%s is Python %d.%d: Lockstep needs 3.10 or newer."
        % ((sys.executable,) + sys.version_info[:2])
    )

spec = importlib.util.find_spec("torch")
if spec is None or spec.origin is None:
    sys.exit("%s has no torch." % sys.executable)
folder = os.path.dirname(spec.origin)
facts = {}  # type: dict
with open(os.path.join(folder, "version.py")) as file:
    exec(file.read(), facts)  # torch's own few lines of assignments; "import torch" runs them, too

print(folder)
print(facts["__version__"])
print(facts.get("cuda") or "none")
print("%d.%d" % sys.version_info[:2])
print("yes" if os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")) else "no")
