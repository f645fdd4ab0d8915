"""The runner's end of the pipes of lockstep-eager, and programs for it."""

import json
import struct
import subprocess
import time

HELLO = {
    "type": "hello",
    "protocol": 2,
    "threads": 1,
    "cache": None,
    "libraries": [],
    "limits": {"memory_bytes": 8 << 30, "file_bytes": 1 << 30},
}
TRANSPOSED = {"storage": 0, "dtype": "float32", "shape": [4, 5], "strides": [1, 4]}
# pytorch #185337: fp32 -> fp16 -> fp32 keeps the fp16 rounding.
ROUND_TRIP = {
    "inputs": ["x"],
    "steps": [
        {
            "let": ["h"],
            "op": "aten::to.dtype",
            "args": [{"ref": "x"}, {"dtype": "float16"}],
            "kwargs": {},
        },
        {
            "let": ["y"],
            "op": "aten::to.dtype",
            "args": [{"ref": "h"}, {"dtype": "float32"}],
            "kwargs": {},
        },
        {"let": ["s"], "op": "aten::sum.dim_IntList", "args": [{"ref": "y"}, [1]], "kwargs": {}},
    ],
    "outputs": ["y", "s"],
    "context": {},
    "backward": None,
}
# Minutes of work in small pieces.
ENDLESS: dict = {
    "inputs": [],
    "outputs": [],
    "context": {},
    "backward": None,
    "steps": [
        {"let": ["a"], "op": "aten::ones.default", "args": [[1200, 1200]], "kwargs": {}},
        *[
            {
                "let": ["b"],
                "op": "aten::matmul.default",
                "args": [{"ref": "a"}, {"ref": "a"}],
                "kwargs": {},
            }
        ]
        * 5000,
    ],
}


class Worker:
    """A started lockstep-eager and the runner's end of its pipes."""

    def __init__(self, binary, scratch):
        self.scratch = scratch
        self.process = subprocess.Popen(
            [binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdin and self.process.stdout
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self.runs = 0

    def say(self, message):
        self.stdin.write(json.dumps(message) + "\n")
        self.stdin.flush()

    def hear(self):
        line = self.stdout.readline()
        assert line, "the worker closed its output"
        return json.loads(line)

    def hello(self, **changes):
        self.say({**HELLO, "scratch": str(self.scratch), **changes})
        return self.hear()

    def start(self, *arguments, **changes):
        """Sends a run and returns its number; its observation goes to the folder of that number."""
        request = self.request(*arguments, **changes)
        self.say(request)
        return request["run"]

    def start_batch(self, *requests):
        """Sends a batch and returns the numbers of its runs."""
        self.say({"type": "batch", "runs": list(requests)})
        return [request["run"] for request in requests]

    def request(self, program, inputs=None, storages=(), **changes):
        self.runs += 1
        out = self.scratch / str(self.runs)
        out.mkdir()
        entries = []
        for index, data in enumerate(storages):
            path = self.scratch / f"in{self.runs}.{index}"
            path.write_bytes(data)
            entries.append({"file": str(path), "bytes": len(data)})
        return {
            "type": "run",
            "run": self.runs,
            "instance": "test",
            "path": {"name": "eager"},
            "out": str(out),
            "device": "cpu",
            "mode": "plain",
            "repeat": 1,
            "seed": 0,
            "program": program,
            "storages": entries,
            "calls": [{"inputs": inputs or {}}],
            **changes,
        }

    def until(self, kind, run):
        """The messages about a run up to and with the first of this kind."""
        messages: list = []
        while not messages or messages[-1]["type"] != kind or messages[-1]["run"] != run:
            messages.append(self.hear())
        return [message for message in messages if message["run"] == run]

    def observe(self, *arguments, **changes):
        run = self.start(*arguments, **changes)
        ended = self.until("ended", run)[-1]
        assert ended.get("exit") == 0, (ended, self.stderr(run))
        return self.observation(run)

    def observation(self, run):
        return json.loads((self.scratch / str(run) / "observation.json").read_text())

    def stderr(self, run):
        return (self.scratch / str(run) / "stderr").read_text()

    def floats(self, run, observation, view):
        data = (
            self.scratch / str(run) / observation["storages"][view["storage"]]["file"]
        ).read_bytes()
        return list(struct.unpack(f"{len(data) // 4}f", data))


def op(let, name, *args, **kwargs):
    return {"let": let, "op": f"aten::{name}", "args": list(args), "kwargs": kwargs}


FOUR = {"storage": 0, "dtype": "float32", "shape": [4], "strides": [1]}


def fractions():
    return [struct.unpack("f", struct.pack("f", i / 7))[0] for i in range(20)]


def round_trip(value):
    return struct.unpack("e", struct.pack("e", value))[0]


def is_gone(pid):
    """Within a few seconds, for the kernel takes its time."""
    for _ in range(200):
        try:
            state = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False
