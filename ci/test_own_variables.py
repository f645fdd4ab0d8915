"""A test that leaves variables changed fails (own_variables.py)."""

import pathlib
import subprocess
import sys

TESTS = """
import os
def test_restores(monkeypatch): monkeypatch.setenv("ONE", "1")
def test_leaves(): os.environ["OTHER"] = "1"
def test_leaves_what_workers_take_over(): os.environ["LOCKSTEP_OTHER"] = "1"
"""


def test_who_leaves_a_variable_fails(tmp_path):
    (tmp_path / "test_some.py").write_text(TESTS)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "own_variables",
            ".",
        ],
        cwd=tmp_path,
        env={"PATH": "", "PYTHONPATH": str(pathlib.Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1 and "3 passed, 1 error" in done.stdout, done.stdout + done.stderr
    assert "ERROR test_some.py::test_leaves " in done.stdout
    assert "the test leaves OTHER changed" in done.stdout
