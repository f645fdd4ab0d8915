"""A torch that nobody installed: a copy somewhere else, found through a `.pth` file as a source
tree is, with a nightly's version."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
NIGHTLY = "2.16.0.dev20261120+git0123abc"


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory):
    """An environment of its own whose torch is a tree of links elsewhere, but for what says the
    version."""
    facts = subprocess.check_output(
        [sys.executable, ROOT / "ci" / "find_torch.py"], text=True
    ).splitlines()
    installed, folder = pathlib.Path(facts[0]), tmp_path_factory.mktemp("found")
    tree = folder / "source" / "torch"
    tree.mkdir(parents=True)
    for entry in installed.iterdir():
        if entry.name not in ("version.py", "__pycache__"):
            (tree / entry.name).symlink_to(entry)
    version = (installed / "version.py").read_text()
    (tree / "version.py").write_text(
        re.sub(r"(__version__ *(?::[^=]*)?= *)['\"].*?['\"]", rf"\1'{NIGHTLY}'", version)
    )
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    # Everything else that torch imports is where it was.
    (packages / "found.pth").write_text(f"{tree.parent}\n{installed.parent}\n")
    return folder / "venv" / "bin" / "python"


def resolved(python, cache):
    """What the launcher makes of an interpreter: the key of its build, and how to call it again."""
    script = (
        f'source "{ROOT}/ci/setup.sh"; resolve; plan_build release; '
        r'printf "%s\n" "$KEY" "$BUILD" "$LOCKSTEP_COMMAND"'
    )
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")
    }
    return subprocess.check_output(
        ["bash", "-c", script],
        text=True,
        cwd=cache,
        env={**environment, "LOCKSTEP_PYTHON": str(python), "LOCKSTEP_CACHE": str(cache)},
    ).splitlines()


def test_the_launcher_finds_it_and_names_its_build_by_it(interpreter, tmp_path):
    facts = subprocess.check_output(
        [interpreter, ROOT / "ci" / "find_torch.py"], text=True
    ).splitlines()
    assert facts[0] == str(interpreter.parents[2] / "source" / "torch") and facts[1] == NIGHTLY
    key, build, command = resolved(interpreter, tmp_path)
    assert key.startswith(f"torch-{NIGHTLY}-") and build == f"{tmp_path}/build/release-{key}"
    assert command == f"LOCKSTEP_PYTHON={interpreter} {ROOT}/ci/lockstep"
    # Another interpreter with the same torch shares the build, one with another torch does not.
    assert resolved(interpreter.with_name("python3"), tmp_path)[:2] == [key, build]
    assert resolved(sys.executable, tmp_path)[0] != key


@pytest.mark.skipif(
    not os.environ.get("LOCKSTEP_LONG"),
    reason="a minute: the worker makes its header for a torch that it does not know",
)
def test_the_compiled_worker_runs_on_it(interpreter, tmp_path):
    """The eager worker stays that of the build, and the log says both versions."""
    binary = pathlib.Path(os.environ["LOCKSTEP_BINARY_DIR"]) / "bin" / "lockstep"
    done = subprocess.run(
        [binary, "run", "bugs/185337-half-round-trip@cpu/eager-python", "--out", tmp_path / "run"],
        env={**os.environ, "LOCKSTEP_HOME": str(ROOT), "LOCKSTEP_PYTHON": str(interpreter)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    log = (tmp_path / "run" / "run.jsonl").read_text()
    assert f'"torch":"{NIGHTLY}"' in log.replace('": "', '":"')
