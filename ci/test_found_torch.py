"""A torch that nobody installed: a copy somewhere else, found through a `.pth` file as a source
tree is, with a nightly's version."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
FACTS = ROOT / "runner" / "python" / "lockstep" / "torch_facts.py"
NIGHTLY = "2.16.0.dev20261120+git0123abc"


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory):
    """An environment of its own whose torch is a tree of links elsewhere, but for what says the
    version."""
    facts = json.loads(subprocess.check_output([sys.executable, FACTS]))
    installed, folder = pathlib.Path(facts["folder"]), tmp_path_factory.mktemp("found")
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


def told(python, *words):
    """What a Python script of ours prints, called as a user would with that interpreter."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("LOCKSTEP_")
    }
    return subprocess.check_output(
        words, text=True, env={**environment, "LOCKSTEP_PYTHON": str(python)}
    )


def key_of(python):
    """What the eager worker of an interpreter's torch is named by."""
    code = "from lockstep import eager, torch_facts as facts"
    code += "; print(eager.Recipe(facts.facts(), eager.compiler()).key)"
    code = f"import sys; sys.path.insert(0, {str(FACTS.parents[1])!r}); {code}"
    return told(python, python, "-c", code).strip()


def test_the_set_up_finds_it_and_names_what_is_built_by_it(interpreter):
    facts = json.loads(subprocess.check_output([interpreter, FACTS]))
    assert facts["folder"] == str(interpreter.parents[2] / "source" / "torch")
    assert facts["version"] == NIGHTLY
    provided = told(interpreter, sys.executable, ROOT / "ci" / "set_up.py", "provide").splitlines()
    assert f"LOCKSTEP_PYTHON={interpreter}" in provided and "OURS=no" in provided
    (command,) = (line for line in provided if line.startswith("LOCKSTEP_COMMAND="))
    assert f"LOCKSTEP_PYTHON={interpreter} " in command and "ci/lockstep" in command
    key = key_of(interpreter)
    assert key.startswith(f"torch-{NIGHTLY}-")
    # Another interpreter with the same torch shares the worker, one with another torch does not.
    assert key_of(interpreter.with_name("python3")) == key
    assert key_of(sys.executable) != key


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
