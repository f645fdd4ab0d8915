"""Executes programs under capture in forks of one process that has imported torch.

Importing it takes seconds, so that this file, as a program, does it once. What it does for each is
what `lockstep/capturing/script.py` does in a process of its own."""

import atexit
import json
import os
import pathlib
import signal
import subprocess
import sys
import traceback

#: How long a program may take, in seconds.
LONGEST = 240
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "runner" / "python"))


class Forks:
    """A process that has imported torch and executes the script in forks of itself."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, words, folder):
        """Does what `subprocess.run` does with a command that begins with Python."""
        texts = [folder / "stdout", folder / "stderr"]
        asked = {"words": list(map(str, words[1:])), "texts": list(map(str, texts))}
        asks, answers = self._process.stdin, self._process.stdout
        assert asks is not None and answers is not None
        print(json.dumps(asked | {"cwd": os.getcwd()}), file=asks, flush=True)
        status = int(answers.readline())
        out, errors = (each.read_text("utf-8", "replace") for each in texts)
        return subprocess.CompletedProcess(words, status, out, errors)

    def close(self):
        self._process.communicate()


def serve():
    """The side of that process: a line asks for a fork, a line says how it ended."""
    import torch._dynamo  # noqa: F401

    from lockstep.capturing.script import main

    for line in sys.stdin:
        asked = json.loads(line)
        if (child := os.fork()) == 0:
            _execute(main, asked)
        status = os.waitpid(child, 0)[1]
        print(os.waitstatus_to_exitcode(status), flush=True)


def _execute(main, asked):
    """Becomes a Python that was started with the words; never returns."""
    for number, name in enumerate(("/dev/null", *asked["texts"])):
        made = os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
        os.dup2(made, number)
        os.close(made)
    sys.stdin = open(0, encoding="utf-8")
    os.chdir(asked["cwd"])
    sys.argv = asked["words"]
    sys.path[:2] = [os.path.dirname(sys.argv[0])]
    signal.alarm(LONGEST)
    status = 0
    try:
        main()
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
