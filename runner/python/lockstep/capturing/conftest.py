"""Runs programs under capture: the script's process alone, without the runner."""

import json
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1]
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


@pytest.fixture
def record(tmp_path):
    """Executes the text of a program; `words` are its arguments."""

    def run(text, *words, functions=False, calls=False, before="", name="model.py"):
        program = tmp_path / name
        program.write_text(before + "import torch\nimport torch.nn as nn\n" + textwrap.dedent(text))
        folder = pathlib.Path(tempfile.mkdtemp(prefix="spool-", dir=tmp_path))
        limits = {"bytes": 1 << 24, "graphs": 16, "functions": functions, "calls": calls}
        script = PACKAGE / "capturing" / "script.py"
        done = subprocess.run(
            [sys.executable, script, folder, json.dumps(limits), program, *words],
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        return Recorded(done, folder, program.stem)

    return run


def parsed(captured, way=None):
    """A case as JSON."""
    from lockstep.capturing import cases

    return json.loads(cases.write(captured, way or cases.Way(True, False)))


@pytest.fixture
def case_of():
    return parsed
