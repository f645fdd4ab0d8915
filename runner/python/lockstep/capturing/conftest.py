"""Runs programs under capture: the script's process alone, without the runner.

Importing torch takes seconds, so that this file, as a program, does it once and then forks for each
program of a test. `record(…, fresh=True)` starts a process of its own, as users have."""

import atexit
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import traceback

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
SCRIPT = PACKAGE / "capturing" / "script.py"
#: How long a program may take, in seconds.
LONGEST = 240
sys.path.insert(0, str(PACKAGE.parent))


class Recorded:
    """What a program has left in its spool."""

    def __init__(self, done, folder, stem):
        from lockstep.capturing import cases, spool

        self.status, self.text, self.errors = done.returncode, done.stdout, done.stderr
        self.folder = folder
        self.regions = spool.regions_of(folder)
        self.reasons = spool.reasons_of(folder)
        graphs = [each for each in self.regions if "sweep" not in each]
        self.cases = cases.captured_of(graphs, folder, stem)

    def only(self):
        """The only case, whose steps give what the program gave."""
        assert len(self.cases) == 1, ([each.name for each in self.cases], self.reasons, self.errors)
        assert self.cases[0].region["replay"] is None, self.cases[0].region["replay"]
        return self.cases[0]


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
    sys.exit()

import pytest  # noqa: E402 - the forks do without it


@pytest.fixture(scope="session")
def forks():
    with contextlib.closing(Forks()) as forks:
        yield forks


@pytest.fixture
def record(tmp_path, forks):
    """Executes the text of a program; `words` are its arguments."""

    def run(text, *words, functions=False, calls=False, before="", name="model.py", fresh=False):
        program = tmp_path / name
        program.write_text(before + "import torch\nimport torch.nn as nn\n" + textwrap.dedent(text))
        folder = pathlib.Path(tempfile.mkdtemp(prefix="spool-", dir=tmp_path))
        limits = {"bytes": 1 << 24, "graphs": 16, "functions": functions, "calls": calls}
        command = [sys.executable, SCRIPT, folder, json.dumps(limits), program, *words]
        if not fresh and not before:
            streams = pathlib.Path(tempfile.mkdtemp(prefix="streams-", dir=tmp_path))
            return Recorded(forks.run(command, streams), folder, program.stem)
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST)
        return Recorded(done, folder, program.stem)

    return run


def parsed(captured, way=None):
    """A case as JSON."""
    from lockstep.capturing import cases

    return json.loads(cases.write(captured, way or cases.Way(True, False)))


@pytest.fixture
def case_of():
    return parsed
