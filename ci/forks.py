"""Executes Python programs in forks of one process that has imported torch and its compilers.

Importing them takes seconds, so that this file, as a program, does it once. What a program finds is
what it would find in a process of its own, but for variables that torch reads as it is imported."""

import atexit
import json
import os
import pathlib
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable

#: How long a program may take, in seconds.
LONGEST = 240


class Forks:
    """A process that has imported torch and executes programs in forks of itself."""

    def __init__(self):
        # A pool of compiling processes, which importing Inductor would begin, has no fork.
        alone = os.environ | {"TORCHINDUCTOR_COMPILE_THREADS": "1"}
        alone.pop("PYTHONPATH", None)  # each program has its own
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=alone,
        )

    def run(self, words, *, cwd=None, environment=None, text=""):
        """Does what `subprocess.run` does with a command that begins with Python."""
        with tempfile.TemporaryDirectory() as folder:
            streams = [pathlib.Path(folder, each) for each in ("stdin", "stdout", "stderr")]
            streams[0].write_text(text, "utf-8")
            status = self._status_of(words, streams, cwd, environment)
            out, errors = (each.read_text("utf-8", "replace") for each in streams[1:])
        return subprocess.CompletedProcess(words, status, out, errors)

    def _status_of(self, words, streams, cwd, environment):
        asked = {
            "words": list(map(str, words[1:])),
            "streams": list(map(str, streams)),
            "cwd": str(cwd or os.getcwd()),
            "environment": dict(os.environ if environment is None else environment),
        }
        asks, answers = self._process.stdin, self._process.stdout
        assert asks is not None and answers is not None
        print(json.dumps(asked), file=asks, flush=True)
        return int(answers.readline())

    def close(self):
        self._process.communicate()


def serve():
    """The side of that process: a line asks for a fork, a line says how it ended."""
    import torch
    import torch._dynamo
    import torch._inductor.compile_fx

    # This imports what every program that compiles needs.
    torch.compile(lambda x: x + 1, backend="eager")(torch.ones(1))
    torch.compiler.reset()
    for line in sys.stdin:
        if (child := os.fork()) == 0:
            _execute(json.loads(line))
        status = os.waitpid(child, 0)[1]
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run_code(code, run_name):
    exec(code, {"__name__": run_name})


#: How Python's options of these names run what comes behind them.
_OPTIONS: dict[str, Callable[..., object]] = {"-c": _run_code, "-m": runpy.run_module}


def _execute(asked):
    """Becomes a Python that was started with the words; never returns."""
    for number, name in enumerate(asked["streams"]):
        made = os.open(name, os.O_RDWR | os.O_CREAT | (os.O_TRUNC if number else 0), 0o600)
        os.dup2(made, number)
        os.close(made)
    sys.stdin = open(0, encoding="utf-8")
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    option = asked["words"][0] if asked["words"][0] in _OPTIONS else ""
    run = _OPTIONS.get(option, runpy.run_path)
    what, *sys.argv[1:] = asked["words"][bool(option) :]
    sys.argv[0] = option or what
    first = asked["cwd"] if option else os.path.dirname(os.path.abspath(what))
    path = os.environ.get("PYTHONPATH", "")
    sys.path[:1] = [first, *filter(None, path.split(os.pathsep))]
    signal.alarm(LONGEST)
    status = 0
    try:
        run(what, run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
        status = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == "__main__":
    serve()
