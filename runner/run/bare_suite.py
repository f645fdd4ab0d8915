"""A suite of a test's own cases with Lockstep's workers."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def make_suite(folder: pathlib.Path, cases: pathlib.Path) -> pathlib.Path:
    """`folder` as a suite of these cases, without expectations and without paths of its own."""
    (folder / "runner" / "paths").mkdir(parents=True)
    (folder / "runner" / "workers").symlink_to(ROOT / "runner" / "workers")
    (folder / "cases").symlink_to(cases)
    (folder / "expected").mkdir()
    return folder


def path_file(folder: pathlib.Path, name: str, **changes: object) -> pathlib.Path:
    """A file of a path of the Python worker, which compiles nothing but for these changes."""
    declared = {
        "format": 2,
        "name": name,
        "title": name,
        "contract": "bits",
        "default": False,
        "worker": "compiled",
        "backend": None,
        "mode": None,
        "dynamic": False,
        "fullgraph": True,
        "import": [],
        "config": {},
        "environment": {},
        "devices": ["*"],
        **changes,
    }
    file = folder / f"{name}.json"
    file.write_text(json.dumps(declared))
    return file


def lockstep(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    """The binary of the build, on the cases of the repository."""
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    return subprocess.run(
        [binary, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=600,
        env={
            **os.environ,
            "LOCKSTEP_HOME": str(ROOT),
            "LOCKSTEP_PYTHON": sys.executable,
            **environment,
        },
    )
