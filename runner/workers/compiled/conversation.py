"""A runner for tests: talks to a worker over pipes, as the page says, and reads observations."""

import json
import os
import select
import struct
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PATHS = os.path.join(HERE, "..", "..", "paths")


def path(name, **changes):
    """A path file that comes with the suite, with some keys changed."""
    with open(os.path.join(PATHS, name + ".json"), encoding="utf-8") as file:
        return {**json.load(file), **changes}


def pack(values, code):
    """Bytes of a storage: `f` float32, `e` float16, `q` int64, …"""
    return struct.pack(f"<{len(values)}{code}", *values)


def view(storage, shape, strides=None, dtype="float32", **rest):
    """A view of the protocol; contiguous unless strides are given."""
    if strides is None:
        strides, step = [], 1
        for size in reversed(shape):
            strides.insert(0, step)
            step *= max(size, 1)
    return {"storage": storage, "dtype": dtype, "shape": shape, "strides": strides, **rest}


class Worker:
    """A worker process and the conversation with it. `scratch` is a directory of the test. `shim`:
    a directory whose modules come before all others."""

    def __init__(self, scratch, cache=None, threads=1, limits=None, hello=True, shim=None):
        self.scratch, self.count, self.lines, self.log = str(scratch), 0, [], []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "lockstep_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": f"{shim}:{HERE}" if shim else HERE},
            cwd=self.scratch,
        )
        assert self.process.stdin and self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.pending = b""
        self.hello = None
        if hello:
            self.say(
                {
                    "type": "hello",
                    "protocol": 2,
                    "threads": threads,
                    "scratch": self.scratch,
                    "cache": cache,
                    "limits": limits or {"memory_bytes": 0, "file_bytes": 0},
                    "libraries": [],
                }
            )
            self.hello = self.hear(600)

    def say(self, message):
        self.stdin.write(json.dumps(message).encode() + b"\n")
        self.stdin.flush()

    def hear(self, timeout=120):
        """The next message; TimeoutError after so many seconds, EOFError at the end."""
        end = time.monotonic() + timeout
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.stdout], [], [], max(0, end - time.monotonic()))
            if not ready:
                raise TimeoutError(f"no answer in {timeout} s")
            chunk = os.read(self.stdout.fileno(), 65536)
            if not chunk:
                raise EOFError("the worker is gone")
            self.pending += chunk
        line, self.pending = self.pending.split(b"\n", 1)
        message = json.loads(line)
        self.log.append(message)
        return message

    def start(self, program, calls, storages=(), path_=None, **rest):
        """Sends a `run`; its number and directory. `calls`: the inputs of each, or all that is said
        of it. `storages`: bytes each."""
        self.count += 1
        folder = os.path.join(self.scratch, f"r{self.count}")
        os.makedirs(os.path.join(folder, "out"))
        files = []
        for i, data in enumerate(storages):
            with open(os.path.join(folder, f"in{i}"), "wb") as file:
                file.write(data)
            files.append({"file": os.path.join(folder, f"in{i}"), "bytes": len(data)})
        program = {"context": {}, "backward": None, **program}
        self.say(
            {
                "type": "run",
                "run": self.count,
                "instance": f"test/{self.count}@cpu",
                "path": path_ or path("inductor"),
                "out": os.path.join(folder, "out"),
                "device": "cpu",
                "mode": "plain",
                "repeat": 1,
                "seed": 0,
                "program": program,
                "storages": files,
                "calls": [call if "inputs" in call else {"inputs": call} for call in calls],
                **rest,
            }
        )
        return self.count, os.path.join(folder, "out")

    def wait(self, run, timeout=120):
        """Hears until `ended` of `run`; that message."""
        while True:
            message = self.hear(timeout)
            if message["type"] == "ended" and message["run"] == run:
                return message

    def run(self, *args, **kwargs):
        """Executes and waits; the `Observation`. AssertionError unless it ended with 0."""
        run, out = self.start(*args, **kwargs)
        ended = self.wait(run)
        assert ended.get("exit") == 0, (ended, open(os.path.join(out, "stderr")).read()[-3000:])
        return Observation(out)

    def stop(self):
        self.say({"type": "stop"})
        return self.process.wait(30)


class Observation:
    """An observation and the bytes of its storages."""

    def __init__(self, out):
        self.out = out
        with open(os.path.join(out, "observation.json"), encoding="utf-8") as file:
            self.data = json.load(file)

    def __getitem__(self, key):
        return self.data[key]

    def raw(self, view):
        """The bytes of the storage of a view."""
        storage = self.data["storages"][view["storage"]]
        with open(os.path.join(self.out, storage["file"]), "rb") as file:
            data = file.read()
        assert len(data) == storage["bytes"]
        return data

    def values(self, view, code="f"):
        """The elements of a view in logical order (conj and neg bits are not applied)."""
        size = struct.calcsize(code)
        data, places = self.raw(view), [view["offset"]]
        for length, stride in zip(view["shape"], view["strides"]):
            places = [place + i * stride for place in places for i in range(length)]
        return [struct.unpack_from("<" + code, data, place * size)[0] for place in places]

    def output(self, name, run=0, call=0, reference=False):
        """The view of an output."""
        data = self.data["reference"] if reference else self.data
        return data["runs"][run]["calls"][call]["outputs"][name]
