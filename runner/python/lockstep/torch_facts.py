"""What there is to know of an interpreter's torch without importing it, which costs seconds.

Run as a file, it prints the facts of the interpreter that runs it, as JSON; so it must work on any
Python 3 and import nothing but the standard library. Exit status 1 and one sentence on stderr:
there is no torch, or none that Lockstep works with."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import sysconfig

#: The oldest Python that torch's current releases run on.
OLDEST_PYTHON = (3, 10)
#: The oldest torch that Lockstep is tried on.
OLDEST_TORCH = (2, 10)


class NoTorch(Exception):
    """Why an interpreter has no torch that can be judged; one sentence, and how to mend it."""


def value_of(text, name):
    """What version.py assigns to a name, None or no such name as None; its lines are not
    executed."""
    found = re.search(r"^%s\s*(?::[^=\n]*)?=\s*['\"]([^'\"]*)['\"]" % name, text, re.MULTILINE)
    return found.group(1) if found else None


def has_new_abi(folder):
    """Whether libc10 was built with the C++11 ABI of libstdc++, as all compilers now speak it."""
    with open(os.path.join(folder, "lib", "libc10.so"), "rb") as file:
        return b"St7__cxx11" in file.read()


def stamp(path):
    """Size and time of a file, which change when it is installed again."""
    state = os.stat(path)
    return "%d.%d" % (state.st_size, state.st_mtime_ns)


def facts():
    """Of this interpreter: its torch's folder, version, CUDA and stamp, and what Inductor needs.

    Raises NoTorch."""
    python = "%d.%d" % sys.version_info[:2]
    if sys.version_info < OLDEST_PYTHON:
        raise NoTorch(
            "%s is Python %s: Lockstep needs %d.%d or newer."
            % (sys.executable, python, *OLDEST_PYTHON)
        )
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise NoTorch(
            "%s has no torch: install it there (`pip install torch`), or run Lockstep with a "
            "Python that has it." % sys.executable
        )
    folder = os.path.dirname(spec.origin)
    with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
        text = file.read()
    version = value_of(text, "__version__")
    if version is None:
        raise NoTorch("%s names no version." % os.path.join(folder, "version.py"))
    header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
    return {
        "executable": sys.executable,
        "python": python,
        "folder": folder,
        "version": version,
        "cuda": value_of(text, "cuda"),
        "git": value_of(text, "git_version"),
        "Python.h": os.path.exists(header),
    }


def facts_of(python):
    """The facts of another interpreter, by a process of its own. Raises NoTorch."""
    if python == sys.executable:
        return facts()
    try:
        asked = subprocess.run(
            [python, os.path.abspath(__file__)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            check=False,
        )
    except OSError as error:
        raise NoTorch("%s cannot be run: %s." % (python, error.strerror)) from error
    if asked.returncode != 0:
        raise NoTorch(asked.stderr.strip())
    return json.loads(asked.stdout)


def check(found):
    """Raises NoTorch if the eager worker cannot be built against a torch; says why."""
    folder, version = found["folder"], found["version"]
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers and tuple(map(int, numbers.groups())) < OLDEST_TORCH:
        raise NoTorch(
            "%s has torch %s: Lockstep needs %d.%d or newer."
            % (found["executable"], version, *OLDEST_TORCH)
        )
    for name in (
        "include/ATen/core/dispatch/Dispatcher.h",
        "lib/libc10.so",
        "lib/libtorch_cpu.so",
        "lib/libtorch.so",
    ):
        if not os.path.exists(os.path.join(folder, name)):
            raise NoTorch(
                "torch %s in %s has no %s, as PyPI's wheels have. If it is conda-forge's, whose "
                "libraries lie elsewhere and have another ABI, install torch by pip into an "
                "environment of its own." % (version, folder, name)
            )
    if not has_new_abi(folder):
        raise NoTorch(
            "torch %s in %s speaks the C++ ABI from before C++11: use a wheel of PyPI's."
            % (version, folder)
        )


if __name__ == "__main__":
    try:
        print(json.dumps(facts()))
    except NoTorch as no:
        sys.exit(str(no))
