"""The limits of an execution: those that the runner asks for, and those that were there before."""

import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
GIB = 1 << 30
ASK = """
import resource, sys
sys.path.insert(0, sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[2]),) * 2)
from lockstep_worker import child
child.limit({"memory_bytes": int(sys.argv[3]), "file_bytes": 1 << 20}, sys.argv[4])
print(*resource.getrlimit(resource.RLIMIT_AS), *resource.getrlimit(resource.RLIMIT_FSIZE))
"""


@pytest.mark.parametrize(
    "inherited, asked, device, expected",
    [
        (-1, 64 * GIB, "cpu", 64 * GIB),
        (96 * GIB, 64 * GIB, "cpu", 64 * GIB),
        (32 * GIB, 64 * GIB, "cpu", 32 * GIB),
        (32 * GIB, 64 * GIB, "cuda:0", 32 * GIB),
    ],
)
def test_the_lesser_of_the_asked_and_the_inherited_limit(inherited, asked, device, expected):
    said = subprocess.run(
        [sys.executable, "-c", ASK, str(HERE), str(inherited), str(asked), device],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.split() == [str(expected), str(expected), str(1 << 20), str(1 << 20)]
