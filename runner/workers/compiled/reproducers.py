"""Scripts of cases, for the tests of reproducers: asked for, and executed."""

import json
import os
import pathlib
import subprocess
import sys

from conversation import HERE, pack, path, view

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


def render(message, status=0):
    done = subprocess.run(
        [sys.executable, "-m", "lockstep_worker", "repro"],
        input=json.dumps(message),
        text=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": HERE},
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def execute(text, folder, environment, before=(), **variables):
    (folder / "repro.py").write_text(text)
    return subprocess.run(
        [sys.executable, *before, "repro.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**environment, **variables},
        timeout=600,
    )


def brief(tmp_path, *requests):
    """The brief scripts of some requests."""
    done = subprocess.run(
        [sys.executable, "-m", "lockstep_worker", "repro"],
        input=json.dumps({"brief": requests}),
        text=True,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": HERE},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
