"""An interpreter for tests, and the pip of it: `fake_python.py STATE PROGRAM WORD…` does what
PROGRAM, a script that calls it, is called for. The versions of torch that pip's index has are the
lines of STATE/has; what it was asked is noted in STATE/asked. An environment that it makes has
another such PROGRAM. What it installs is a torch with nothing in it."""

import json
import pathlib
import runpy
import shutil
import sys

state, program, words = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:]
torch = program.parent / "torch"


def make(folder):
    """An interpreter in a folder of environments."""
    folder.mkdir(parents=True)
    shutil.copy(program, folder / "python")


def install(version):
    """What torch_facts.check looks for."""
    for name in (
        "include/ATen/core/dispatch/Dispatcher.h",
        "lib/libtorch_cpu.so",
        "lib/libtorch.so",
        "lib/libc10.so",
    ):
        (torch / name).parent.mkdir(parents=True, exist_ok=True)
        (torch / name).write_text("St7__cxx11")
    (torch / "version").write_text(version)


def facts():
    """As torch_facts.py prints them."""
    if not torch.is_dir():
        sys.exit(f"{program} has no torch: install it there")
    version = (torch / "version").read_text()
    found = {"executable": str(program), "python": "3", "folder": str(torch), "version": version}
    return {**found, "cuda": None, "git": version, "Python.h": True}


def pip(asked):
    """What `python -m pip` does; it knows one package."""
    has = (state / "has").read_text().split()
    if "--version" in asked:
        return
    if has == ["unreachable"]:
        sys.exit("ERROR: there is no network")
    if "versions" in asked:
        print("torch (9)\nAvailable versions: " + ", ".join(has))
        return
    (wanted,) = [word for word in asked if word.startswith("torch")]
    versions = [each for each in has if wanted in ("torch", f"torch=={each}")]
    if not versions:
        sys.exit(
            f"ERROR: (from versions: {', '.join(has) or 'none'})\n"
            f"ERROR: No matching distribution found for {wanted}"
        )
    if "--dry-run" in asked:
        print(json.dumps({"install": [{"metadata": {"version": versions[0]}}]}))
    else:
        install(versions[0])


with open(state / "asked", "a", encoding="utf-8") as log:
    print(*words, file=log)
if words[:2] == ["-m", "venv"]:
    make(pathlib.Path(words[-1]) / "bin")
elif words[:2] == ["-m", "pip"]:
    pip(words[2:])
elif words[0].endswith("torch_facts.py"):
    print(json.dumps(facts()))
elif words[0].endswith("provide.py"):
    sys.exit("the eager worker should be there")
else:  # a script of ours
    sys.executable, sys.argv = str(program), words
    runpy.run_path(words[0], run_name="__main__")
