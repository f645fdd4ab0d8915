"""ci/set_up.py: which parts it knows, and what a shell is told of them."""

import os
import pathlib
import subprocess
import sys

SET_UP = pathlib.Path(__file__).with_name("set_up.py")


def provide(*parts):
    """What the set-up says where there is a Dask, and an interpreter that has torch."""
    given = {"LOCKSTEP_DASK": "/opt/dask/bin/python", "LOCKSTEP_PYTHON": sys.executable}
    return subprocess.run(
        [sys.executable, SET_UP, "provide", *parts],
        capture_output=True,
        text=True,
        env={**os.environ, **given},
    )


def test_a_part_that_there_is_not_is_refused_before_anything_is_done():
    said = provide("dask", "torchh")
    assert said.returncode == 3 and said.stdout == ""
    assert "found torchh, expected packages, test-packages, torch, tests, dask" in said.stderr


def test_dask_is_told_together_with_what_was_provided_beside_it():
    said = provide("dask", "torch")
    assert said.returncode == 0, said.stderr
    told = said.stdout.splitlines()
    assert "LOCKSTEP_DASK=/opt/dask/bin/python" in told
    assert any(line.startswith("LOCKSTEP_PYTHON=") for line in told)
    assert all(line.partition("=")[0].isupper() for line in told)
