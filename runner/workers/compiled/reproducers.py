"""Scripts of cases, for the tests of reproducers: asked for, and executed."""

import atexit
import functools
import json
import os
import pathlib
import subprocess
import sys

from conversation import HERE, pack, path, view

sys.path.insert(0, str(pathlib.Path(HERE).parents[2] / "ci"))

from forks import Forks

X = {"ref": "x"}


ROUND_TRIP: dict = {
    "inputs": ["x"],
    "outputs": ["y"],
    "context": {},
    "backward": None,
    "steps": [
        {"let": ["h"], "op": "aten::to.dtype", "args": [{"ref": "x"}, {"dtype": "float16"}]},
        {"let": ["y"], "op": "aten::to.dtype", "args": [{"ref": "h"}, {"dtype": "float32"}]},
    ],
}


SEVENTHS = pack([i / 7 for i in range(20)], "f")


WORDS = json.loads((pathlib.Path(HERE).parents[2] / "reports" / "words.json").read_text("utf-8"))


def request(tmp_path, program=ROUND_TRIP, calls=None, storages=(SEVENTHS,), path_=None, **rest):
    files = []
    for i, data in enumerate(storages):
        (tmp_path / f"in{i}").write_bytes(data)
        files.append({"file": str(tmp_path / f"in{i}"), "bytes": len(data)})
    calls = calls or [{"x": view(0, [4, 5], [1, 4])}]
    return {
        "id": "test@cpu/inductor",
        "title": "a test",
        "links": [],
        "path": path_ or path("inductor"),
        "device": "cpu",
        "seed": 0,
        "threads": 1,
        "program": program,
        "storages": files,
        "calls": [{"inputs": call} for call in calls],
        "policies": {"y": "bits"},
        "strides": "significant",
        "raises": None,
        "recorded": None,
        "words": WORDS,
        "prepare": None,
        **rest,
    }


@functools.cache
def forks():
    """What executes Python for these tests: torch is imported once for all."""
    made = Forks()
    atexit.register(made.close)
    return made


def render(message, status=0):
    """The script of a request; or, where the exit status is another one, why there is none."""
    done = forks().run(
        [sys.executable, "-m", "lockstep_worker", "repro"],
        environment={**os.environ, "PYTHONPATH": HERE},
        text=json.dumps(message),
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def python(folder, environment, *words):
    """What a Python says that is started in a folder with these words."""
    return forks().run([sys.executable, *words], cwd=folder, environment=environment)


def execute(text, folder, environment, **variables):
    """What a script says that is started in a folder, where it stays."""
    (folder / "repro.py").write_text(text)
    return python(folder, {**environment, **variables}, "repro.py")


def execute_alone(text, folder, environment):
    """The same of a script in a process of its own, as users start it."""
    (folder / "repro.py").write_text(text)
    return subprocess.run(
        [sys.executable, "repro.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )


def brief(tmp_path, *requests):
    """The brief scripts of some requests."""
    return json.loads(render({"brief": requests}))
