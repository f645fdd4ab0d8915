"""A suite of a vendor's own, and `lockstep` called in it: of tests of operators that come from
outside."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parent.parent


def make(root: pathlib.Path, cases: dict[str, dict], rooms: tuple[str, ...]) -> pathlib.Path:
    """Writes the cases into a new suite, with four of our paths and these of the runner's rooms."""
    for folder in ("cases", "expected/known", "expected/levels", "runner/paths"):
        (root / folder).mkdir(parents=True)
    for path in ("eager", "eager-python", "aot_eager", "inductor"):
        shutil.copy(ROOT / "runner" / "paths" / f"{path}.json", root / "runner" / "paths")
    for room in rooms:
        (root / "runner" / room).symlink_to(ROOT / "runner" / room)
    for name, case in cases.items():
        (root / "cases" / f"{name}.json").write_text(json.dumps(case))
    return root


def command(suite: pathlib.Path) -> Callable[..., subprocess.CompletedProcess]:
    """Calls `lockstep` there, with the cache of the tests and without the variables of a CI."""
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    cache = os.environ.get("LOCKSTEP_TEST_CACHE")
    kept = {
        name: value for name, value in os.environ.items() if name not in ("CI", "GITHUB_ACTIONS")
    }
    kept["LOCKSTEP_CACHE"] = str(pathlib.Path(cache).parent) if cache else str(suite / ".lockstep")

    def run(*arguments: object) -> subprocess.CompletedProcess:
        return subprocess.run(
            [str(binary), *(str(each) for each in arguments)],
            env={**kept, "LOCKSTEP_HOME": str(suite), "LOCKSTEP_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            timeout=600,
            cwd=suite,
            check=False,
        )

    return run
