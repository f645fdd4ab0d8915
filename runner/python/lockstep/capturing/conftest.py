"""Runs programs under capture: the script's process alone, without the runner.

Importing torch takes seconds, so that the programs of tests are forks of one process.
`record(…, fresh=True)` starts a process of its own, as users have."""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
SCRIPT = PACKAGE / "capturing" / "script.py"
sys.path[:0] = [str(PACKAGE.parents[2] / "ci"), str(PACKAGE.parent)]

from forks import LONGEST, Forks  # noqa: E402


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
            return Recorded(forks.run(command), folder, program.stem)
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
