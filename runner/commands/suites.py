"""A small suite in a folder of its own, for tests of the command line: the real binary with a fake
worker in every role, so no torch is needed. Goldens are in testdata; LOCKSTEP_RENEW=1 writes them
anew, which CI may not."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS = HERE / "testdata"
FAKE = HERE.parent / "engine" / "testdata" / "fake_worker.py"
BINARY = pathlib.Path(os.environ.get("LOCKSTEP_BINARY_DIR", "")) / "bin" / "lockstep"
STEPS = [{"let": "y", "op": "clone.default", "args": ["%x"]}]


def case(title, **more):
    return {
        "format": 1,
        "title": title,
        "inputs": {"x": {"dtype": "float32", "shape": [2, 4], "fill": {"arange": {"start": 1}}}},
        "steps": STEPS,
        "outputs": ["x", "y"],
        **more,
    }


def many(rows):
    """A case of as many instances as rows, each with more than the one before."""
    return case(
        "many",
        matrix={"rows": list(range(1, rows + 1))},
        inputs={"x": {"dtype": "float32", "shape": ["$rows", 4], "fill": {"arange": {"start": 1}}}},
    )


def tensors_of(directory):
    """What a run has saved of tensors, by the names of the files."""
    return {
        str(file.relative_to(directory)): file.read_bytes()
        for file in sorted((directory / "tensors").rglob("*.npy"))
    }


def timeless(directory):
    """run.json without what two runs of the same do not share: times, how they were asked for, and
    how many shards made them."""
    record = json.loads((directory / "run.json").read_text())
    del record["run"]["started"], record["run"]["arguments"], record["end"]["seconds"]
    record["run"].pop("merged", None)
    for verdict in record["verdicts"]:
        for key in ("seconds", "phases", "peak_memory_bytes"):
            verdict.pop(key, None)
    return record


class Suite:
    """A suite in a folder of its own, with paths that do what their names say."""

    def __init__(self, root, binary):
        self.root = root
        self.binary = binary
        for folder in (
            "cases/bugs",
            "cases/ops",
            "expected/known",
            "expected/levels",
            "runner/paths",
        ):
            (root / folder).mkdir(parents=True)
        self.write(
            "cases/bugs/1-first.json",
            case("passes its input on", tags=["silent"], links=["https://example.org/1"]),
        )
        self.write(
            "cases/bugs/2-second.json",
            case(
                "does so twice",
                tags=["loud"],
                matrix={"rows": [1, 2]},
                inputs={
                    "x": {
                        "dtype": "float16",
                        "shape": ["$rows", 4],
                        "fill": {"arange": {"start": 1}},
                    }
                },
            ),
        )
        self.write("cases/ops/clone.json", case("clone"))
        self.write(
            "expected/levels/smoke.json",
            {"format": 1, "name": "smoke", "title": "little", "select": ["bugs/1-first"]},
        )
        for name in ("conform", "flip", "crash", "hang", "slow", "flaky", "die"):
            self.path(name, default=name == "conform")
        self.eager = root / "eager"
        self.eager.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} "$@"\n')
        self.eager.chmod(0o755)

    def write(self, name, content):
        text = content if isinstance(content, str) else json.dumps(content, indent=2) + "\n"
        (self.root / name).write_text(text)

    def path(self, name, **more):
        self.write(
            f"runner/paths/{name}.json",
            {
                "format": 2,
                "name": name,
                "title": f"the path {name}",
                "contract": "bits",
                "worker": [sys.executable, str(FAKE)],
                "backend": "fake",
                **more,
            },
        )

    def environment(self, **more):
        kept = {
            name: value
            for name, value in os.environ.items()
            if name
            not in (
                "CI",
                "GITHUB_ACTIONS",
                "GITHUB_STEP_SUMMARY",
                "NO_COLOR",
                "FORCE_COLOR",
                "CLICOLOR_FORCE",
            )
            and not name.startswith("LOCKSTEP_")
        }
        return {
            **kept,
            "LOCKSTEP_HOME": str(self.root),
            "LOCKSTEP_CACHE": str(self.root / ".lockstep"),
            "LOCKSTEP_EAGER": str(self.eager),
            "LOCKSTEP_PYTHON": sys.executable,
            "LC_ALL": "C",
            **more,
        }

    def __call__(self, *arguments, env=None, cwd=None, **more):
        return subprocess.run(
            [self.binary, *arguments],
            env=self.environment(**(env or {})),
            capture_output=True,
            text=True,
            timeout=120,
            cwd=cwd or self.root,
            **more,
        )

    def start(self, *arguments, ignore=None):
        def prepare():
            # Who starts the tests by `nohup` ignores it, which a run inherits.
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            if ignore:
                signal.signal(ignore, signal.SIG_IGN)

        return subprocess.Popen(
            [self.binary, *arguments],
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.root,
            preexec_fn=prepare,
        )

    def golden(self, name, text):
        """Compares with testdata/NAME after what differs between machines and moments is named."""
        text = text.replace(str(self.root), "SUITE")
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\dZ(-\d+)?", "TIME", text)
        text = re.sub(r"\b\d+\.\d+ s\b", "N s", text)
        text = re.sub(r" +N s", " N s", text)
        text = re.sub(r"^ N s  .*\n", "", text, flags=re.M)  # the slowest ones
        text = re.sub(r"^starting the .*\n", "", text, flags=re.M)  # whenever they are ready
        file = GOLDENS / name
        if os.environ.get("LOCKSTEP_RENEW"):
            assert not os.environ.get("CI"), (
                "LOCKSTEP_RENEW is for people: goldens are read before they are committed"
            )
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
            return
        assert text == file.read_text(), (
            f"if the change is meant: LOCKSTEP_RENEW=1, and read the diff of {name}"
        )


def log_of(directory):
    return [json.loads(line) for line in (directory / "run.jsonl").read_text().splitlines()]


def verdicts(directory):
    return {record["id"]: record for record in log_of(directory) if record["type"] == "verdict"}


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def overload(*types, name="", returns=("Tensor",), tags=("pointwise",)):
    arguments = [
        {"name": f"a{i}", "type": type, "kwarg_only": False, "mutates": False, "has_default": False}
        for i, type in enumerate(types)
    ]
    return {
        "overload": name,
        "tags": tags,
        "returns": [{"type": type} for type in returns],
        "arguments": arguments,
    }
