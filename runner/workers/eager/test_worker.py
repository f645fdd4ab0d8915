"""lockstep-eager over its pipes: the protocol, processes and time.  Set LOCKSTEP_EAGER to the
binary."""

import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "digests"))
from digest_of_page import BLOCK, text_of

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


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("LOCKSTEP_EAGER")
    if not path or not os.access(path, os.X_OK):
        pytest.fail(
            f"LOCKSTEP_EAGER must name the binary lockstep-eager; it is {path!r}", pytrace=False
        )
    return path


@pytest.fixture
def worker(binary, tmp_path):
    worker = Worker(binary, tmp_path)
    yield worker
    worker.process.kill()
    worker.process.wait()
    worker.stdin.close()
    worker.stdout.close()


@pytest.fixture
def greeted(worker):
    worker.hello()
    return worker


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


def test_hello_says_what_it_is(worker):
    answer = worker.hello()
    assert (
        answer["type"] == "hello"
        and answer["protocol"] == 2
        and answer["worker"] == "lockstep-eager"
    )
    assert answer["environment"]["torch"] and answer["environment"]["operators_digest"]
    assert answer["devices"][0] == "cpu"
    assert {"float32", "float8_e4m3fn", "uint16"} <= set(answer["dtypes"])
    modes = "plain fp64 mpfr perturbed stepwise fp64_noise stepwise_noise package"
    assert answer["modes"] == modes.split()
    assert answer["concurrent"] >= 16


def test_hello_of_another_protocol_is_answered_with_an_error(worker):
    assert "protocol 2" in worker.hello(protocol=99)["error"]
    assert worker.process.wait(timeout=10) != 0


def test_a_library_that_does_not_load_is_named(worker):
    assert "no-such-library.so" in worker.hello(libraries=["/no-such-library.so"])["error"]


def test_schemas_name_the_same_fingerprint(binary, worker):
    dump = json.loads(subprocess.check_output([binary, "schemas"]))
    assert dump["format"] == 1
    assert dump["operators_digest"] == worker.hello()["environment"]["operators_digest"]
    assert any(each["overload"] == "Tensor" for each in dump["operators"]["aten::add"])


def test_half_round_trip_keeps_its_rounding(greeted):
    data = struct.pack("20f", *fractions())
    observation = greeted.observe(ROUND_TRIP, {"x": TRANSPOSED}, [data], repeat=2)
    assert observation["outcome"] == "returned" and len(observation["runs"]) == 2
    for run in observation["runs"]:
        call = run["calls"][0]
        y = call["outputs"]["y"]
        assert (y["dtype"], y["shape"], y["strides"]) == ("float32", [4, 5], [1, 4])
        assert greeted.floats(1, observation, y) == [round_trip(value) for value in fractions()]
        assert greeted.floats(1, observation, call["inputs"]["x"]) == fractions()


def test_messages_come_in_order(greeted):
    run = greeted.start(ROUND_TRIP, {"x": TRANSPOSED}, [struct.pack("20f", *fractions())])
    messages = greeted.until("ended", run)
    kinds = [message["type"] for message in messages if message["type"] != "stage"]
    assert kinds == ["started", "ended"]
    assert [m["stage"] for m in messages if m["type"] == "stage"] == ["run", "write"]


def test_a_killed_execution_is_a_signal_and_the_next_one_works(greeted):
    run = greeted.start(ENDLESS)
    pid = greeted.until("started", run)[-1]["pid"]
    assert os.getpgid(pid) == pid
    os.kill(pid, signal.SIGKILL)
    assert greeted.until("ended", run)[-1]["signal"] == signal.SIGKILL
    assert not (greeted.scratch / str(run) / "observation.json").exists()
    data = struct.pack("20f", *fractions())
    assert greeted.observe(ROUND_TRIP, {"x": TRANSPOSED}, [data])["outcome"] == "returned"


def test_a_crash_of_one_is_no_crash_of_others(greeted):
    slow = greeted.start(ENDLESS)
    slow_pid = greeted.until("started", slow)[-1]["pid"]
    crashing = greeted.start(ENDLESS)
    os.kill(greeted.until("started", crashing)[-1]["pid"], signal.SIGSEGV)
    assert greeted.until("ended", crashing)[-1]["signal"] == signal.SIGSEGV
    os.kill(slow_pid, 0)
    os.kill(slow_pid, signal.SIGKILL)
    greeted.until("ended", slow)


def test_end_of_input_kills_everything(greeted):
    pids = [greeted.until("started", greeted.start(ENDLESS))[-1]["pid"] for _ in range(3)]
    greeted.stdin.close()
    assert greeted.process.wait(timeout=10) == 0
    assert all(is_gone(pid) for pid in pids)
    greeted.stdin = open(os.devnull, "w")


def test_the_death_of_the_worker_kills_everything(greeted):
    pid = greeted.until("started", greeted.start(ENDLESS))[-1]["pid"]
    greeted.process.kill()
    assert is_gone(pid)


def test_stop_waits_for_what_runs(greeted):
    run = greeted.start(ROUND_TRIP, {"x": TRANSPOSED}, [struct.pack("20f", *fractions())])
    greeted.say({"type": "stop"})
    assert greeted.until("ended", run)[-1]["exit"] == 0
    assert greeted.process.wait(timeout=10) == 0


def test_many_at_once_each_get_their_own_answer(greeted):
    runs = []
    for i in range(24):
        data = struct.pack("20f", *[float(i)] * 20)
        runs.append(greeted.start(ROUND_TRIP, {"x": TRANSPOSED}, [data]))
    ended: dict = {}
    while len(ended) < len(runs):
        message = greeted.hear()
        if message["type"] == "ended":
            ended[message["run"]] = message["exit"]
    assert ended == dict.fromkeys(runs, 0)
    for i, run in enumerate(runs):
        observation = json.loads((greeted.scratch / str(run) / "observation.json").read_text())
        y = observation["runs"][0]["calls"][0]["outputs"]["y"]
        assert greeted.floats(run, observation, y) == [float(i)] * 20


def test_an_error_is_an_observation(greeted):
    program = {
        **ROUND_TRIP,
        "outputs": [],
        "steps": [
            {
                "let": ["z"],
                "op": "aten::mm.default",
                "args": [{"ref": "x"}, {"ref": "x"}],
                "kwargs": {},
            }
        ],
    }
    observation = greeted.observe(program, {"x": TRANSPOSED}, [struct.pack("20f", *fractions())])
    assert observation["outcome"] == "raised"
    assert observation["error"]["class"] == "RuntimeError"
    assert (
        observation["error"]["message"] == "mat1 and mat2 shapes cannot be multiplied (4x5 and 4x5)"
    )


def test_a_malformed_request_is_an_exit_and_says_why(greeted):
    greeted.say({"type": "run", "run": 70})
    ended = greeted.until("ended", 70)[-1]
    assert ended["exit"] == 64 and "`out`" in ended["error"]
    run = greeted.start(
        ROUND_TRIP, {"x": {**TRANSPOSED, "offset": 1}}, [struct.pack("20f", *fractions())]
    )
    ended = greeted.until("ended", run)[-1]
    assert ended["exit"] == 64 and "reaches outside" in ended["error"]
    greeted.say({"type": "sing"})
    assert greeted.hear()["type"] == "error"


def test_what_leaves_by_itself_is_no_fault_of_the_worker(worker, tmp_path):
    """64 is also what the worker says of a malformed request, but then it says why."""
    (tmp_path / "leave.c").write_text(
        "#include <pthread.h>\n#include <unistd.h>\nstatic void leave(void) { _exit(64); }\n"
        "__attribute__((constructor)) static void load(void) { pthread_atfork(0, 0, leave); }\n"
    )
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-o", tmp_path / "leave.so", tmp_path / "leave.c"], check=True
    )
    worker.hello(libraries=[str(tmp_path / "leave.so")])
    run = worker.start(ROUND_TRIP, {"x": TRANSPOSED}, [struct.pack("20f", *fractions())])
    assert worker.until("ended", run)[-1] == {"type": "ended", "run": run, "exit": 64}


def test_the_memory_limit_holds(binary, worker):
    worker.hello(limits={"memory_bytes": 4 << 30, "file_bytes": 0})
    program = {
        **ENDLESS,
        "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[8 << 30]], "kwargs": {}}],
    }
    observation = worker.observe(program)
    assert observation["outcome"] == "raised"
    assert "can't allocate memory" in observation["error"]["message"]


def test_the_file_limit_holds(worker):
    worker.hello(limits={"memory_bytes": 0, "file_bytes": 1 << 20})
    program = {
        **ENDLESS,
        "outputs": ["a"],
        "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[1 << 20]], "kwargs": {}}],
    }
    run = worker.start(program)
    ended = worker.until("ended", run)[-1]
    assert ended.get("signal") == signal.SIGXFSZ or ended.get("exit") == 70


def test_more_threads_work_after_the_fork(worker):
    worker.hello(threads=2)
    program = {
        "inputs": ["x"],
        "outputs": ["g"],
        "context": {},
        "backward": {"of": ["s"], "with": "ones"},
        "steps": [
            {"let": ["y"], "op": "aten::matmul.default", "args": [{"ref": "x"}, {"ref": "x"}]},
            {"let": ["z"], "op": "aten::sin.default", "args": [{"ref": "y"}]},
            {"let": ["s"], "op": "aten::sum.default", "args": [{"ref": "z"}]},
            {"let": ["g"], "op": "aten::detach.default", "args": [{"ref": "s"}]},
        ],
    }
    view = {
        "storage": 0,
        "dtype": "float32",
        "shape": [512, 512],
        "strides": [512, 1],
        "requires_grad": True,
    }
    for _ in range(4):
        observation = worker.observe(program, {"x": view}, [bytes(4 * 512 * 512)])
        assert observation["outcome"] == "returned"


# Batches: several runs in one child.  This worker offers them for accelerators alone and takes them
# for the CPU, too.

RAISES = {
    **ENDLESS,
    "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[-1]], "kwargs": {}}],
}


def round_trip_of(worker, value=1.0):
    return worker.request(ROUND_TRIP, {"x": TRANSPOSED}, [struct.pack("20f", *[value] * 20)])


def said_of(worker, last):
    """All that is said up to the end of this run."""
    said = [worker.hear()]
    while said[-1]["type"] != "ended" or said[-1]["run"] != last:
        said.append(worker.hear())
    return said


def children(said):
    return {message["run"]: message["pid"] for message in said if message["type"] == "started"}


def ends(said):
    return [
        (message["run"], message.get("exit"), message.get("signal"))
        for message in said
        if message["type"] == "ended"
    ]


def test_batches_are_not_for_the_cpu(worker):
    answer = worker.hello()
    assert set(answer["batch"]) == {device.split(":")[0] for device in answer["devices"]} - {"cpu"}


def test_a_batch_is_executed_in_one_child_in_order(greeted):
    runs = greeted.start_batch(*[round_trip_of(greeted, value) for value in (1.0, 2.0, 3.0)])
    said = said_of(greeted, runs[-1])
    one = ["started", "stage", "stage", "ended"]
    assert [(message["run"], message["type"]) for message in said] == [
        (run, kind) for run in runs for kind in one
    ]
    assert ends(said) == [(run, 0, None) for run in runs]
    assert len(set(children(said).values())) == 1
    for run, value in zip(runs, (1.0, 2.0, 3.0)):
        seen = greeted.observation(run)
        assert (
            greeted.floats(run, seen, seen["runs"][0]["calls"][0]["outputs"]["y"]) == [value] * 20
        )
    assert greeted.observe(ROUND_TRIP, {"x": TRANSPOSED}, [bytes(80)])["outcome"] == "returned"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])  # a time-out, and a crash
def test_what_dies_in_a_batch_is_one_execution(greeted, number):
    runs = greeted.start_batch(
        round_trip_of(greeted),
        greeted.request(ENDLESS),
        *[round_trip_of(greeted) for _ in range(2)],
    )
    said = greeted.until("started", runs[1])
    pid = said[-1]["pid"]
    os.killpg(pid, number)
    said = said_of(greeted, runs[-1])
    assert ends(said) == [(runs[1], None, number), (runs[2], 0, None), (runs[3], 0, None)]
    assert children(said)[runs[2]] == children(said)[runs[3]] != pid
    assert not (greeted.scratch / str(runs[1]) / "observation.json").exists()
    assert [greeted.observation(run)["outcome"] for run in (runs[0], runs[2], runs[3])] == [
        "returned"
    ] * 3


def test_after_an_error_comes_a_fresh_child(greeted):
    beyond = greeted.request(
        ROUND_TRIP, {"x": {**TRANSPOSED, "offset": 1}}, [bytes(80)]
    )  # breaks the protocol
    runs = greeted.start_batch(
        greeted.request(RAISES), round_trip_of(greeted), beyond, round_trip_of(greeted)
    )
    said = said_of(greeted, runs[-1])
    assert ends(said) == [
        (runs[0], 0, None),
        (runs[1], 0, None),
        (runs[2], 64, None),
        (runs[3], 0, None),
    ]
    pids = children(said)
    assert pids[runs[0]] != pids[runs[1]] == pids[runs[2]] != pids[runs[3]]
    assert greeted.observation(runs[0])["outcome"] == "raised"
    errors = {
        message["run"]: message.get("error", "") for message in said if message["type"] == "ended"
    }
    assert "reaches outside" in errors[runs[2]] and not errors[runs[3]]


def test_limits_hold_for_each_of_a_batch(worker):
    worker.hello(limits={"memory_bytes": 4 << 30, "file_bytes": 1 << 20})
    large = {
        **ENDLESS,
        "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[8 << 30]], "kwargs": {}}],
    }
    written = {
        **ENDLESS,
        "outputs": ["a"],
        "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[1 << 20]], "kwargs": {}}],
    }
    runs = worker.start_batch(
        round_trip_of(worker), worker.request(large), worker.request(written), round_trip_of(worker)
    )
    ended = ends(said_of(worker, runs[-1]))
    assert ended[1] == (runs[1], 0, None) and ended[3] == (runs[3], 0, None)
    assert ended[2] in [(runs[2], None, signal.SIGXFSZ), (runs[2], 70, None)]
    assert "can't allocate memory" in worker.observation(runs[1])["error"]["message"]


def test_the_peak_of_memory_is_that_of_each(greeted):
    size = 1 << 26  # 256 MiB
    large = {
        **ENDLESS,
        "steps": [{"let": ["a"], "op": "aten::ones.default", "args": [[size]], "kwargs": {}}],
    }
    runs = greeted.start_batch(
        round_trip_of(greeted), greeted.request(large), round_trip_of(greeted)
    )
    said = said_of(greeted, runs[-1])
    assert len(set(children(said).values())) == 1
    before, peak, after = [greeted.observation(run)["peak_memory_bytes"] for run in runs]
    assert peak - before > 3 * size and peak - after > 3 * size


def test_end_of_input_ends_a_batch(greeted):
    runs = greeted.start_batch(*[greeted.request(ENDLESS) for _ in range(3)])
    pid = greeted.until("started", runs[0])[-1]["pid"]
    greeted.stdin.close()
    assert greeted.process.wait(timeout=10) == 0
    assert is_gone(pid)
    assert not any((greeted.scratch / str(run) / "stderr").exists() for run in runs[1:])
    greeted.stdin = open(os.devnull, "w")


def test_stop_waits_for_all_of_a_batch(greeted):
    runs = greeted.start_batch(greeted.request(RAISES), round_trip_of(greeted))
    greeted.say({"type": "stop"})
    assert ends(said_of(greeted, runs[-1])) == [(run, 0, None) for run in runs]
    assert greeted.process.wait(timeout=10) == 0


def test_a_batch_is_for_one_device(greeted):
    greeted.say(
        {
            "type": "batch",
            "runs": [round_trip_of(greeted), {**round_trip_of(greeted), "device": "cuda:0"}],
        }
    )
    answer = greeted.hear()
    assert answer["type"] == "error" and "several devices" in answer["error"]


def test_a_call_whose_backward_raised_is_there_without_gradients(greeted):
    program = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {},
        "backward": {"of": ["y"], "with": "ones"},
        "steps": [
            {"let": ["y"], "op": "aten::detach.default", "args": [{"ref": "x"}], "kwargs": {}}
        ],
    }
    view = {"storage": 0, "dtype": "float32", "shape": [2], "strides": [1], "requires_grad": True}
    observation = greeted.observe(program, {"x": view}, [bytes(8)])
    assert (
        observation["outcome"] == "raised"
        and "does not require grad" in observation["error"]["message"]
    )
    (call,) = observation["runs"][0]["calls"]
    assert (
        call["outputs"]["y"]["requires_grad"] is False
        and call["inputs"]["x"]["requires_grad"] is True
    )
    assert call["grads"] == {}
    program["steps"] = [
        {"let": ["y"], "op": "aten::sum.dim_IntList", "args": [{"ref": "x"}, [7]], "kwargs": {}}
    ]
    observation = greeted.observe(program, {"x": view}, [bytes(8)])
    assert observation["runs"] == [{"calls": []}], "it raised before its backward"


# What is accepted and what is refused, in files that the runner and the other worker are tested
# with, too.


def examples(name):
    folder = pathlib.Path(__file__).resolve().parents[2] / "wire" / "testdata"
    return [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]


def form(value):
    """What a result is, without its numbers."""
    return (
        [form(item) for item in value]
        if isinstance(value, list)
        else "tensor"
        if "storage" in value
        else "scalar"
    )


def test_requests_are_accepted_or_refused_as_the_file_says(greeted):
    known: dict = {}  # by type: the keys of what the runner accepts
    for example in examples("worker_lines.jsonl"):
        if "refused" not in example:
            known.setdefault(example["line"]["type"], set()).update(example["line"])
    for number, example in enumerate(examples("requests.jsonl")):
        out, storage = greeted.scratch / f"out{number}", greeted.scratch / f"storage{number}"
        out.mkdir()
        storage.write_bytes(struct.pack("20f", *range(20)))
        line = example.get("text") or json.dumps(example["request"])
        greeted.stdin.write(line.replace("$OUT", str(out)).replace("$STORAGE", str(storage)) + "\n")
        greeted.stdin.flush()
        said = [greeted.hear()]
        while said[-1]["type"] not in ("ended", "error"):
            said.append(greeted.hear())
        for message in said:
            assert message["type"] == "error" or set(message) <= known[message["type"]], message
        answer = said[-1]
        if refused := example.get("refused"):
            assert answer.get("exit", 64) == 64, example["name"]
            assert (refused if isinstance(refused, str) else refused["eager"]) in answer["error"], (
                example["name"]
            )
            continue
        assert answer["exit"] == 0, (example["name"], answer)
        seen = json.loads((out / "observation.json").read_text())
        assert seen["outcome"] == example["outcome"], example["name"]
        if "outputs" in example:
            outputs = seen["runs"][0]["calls"][0]["outputs"]
            assert {name: form(value) for name, value in outputs.items()} == example["outputs"]


def test_hello_is_what_the_runner_accepts(worker):
    accepted = next(
        example["line"] for example in examples("worker_lines.jsonl") if example["name"] == "hello"
    )
    assert set(worker.hello()) <= set(accepted)


# The stand-in of a device whose tensors are compared there: the memory of the process
# (workers/digests/).

ADDED: dict = {
    "inputs": ["x"],
    "outputs": ["y"],
    "context": {},
    "backward": None,
    "steps": [{"let": ["y"], "op": "aten::add.Tensor", "args": [{"ref": "x"}, 1], "kwargs": {}}],
}
LONG = {"x": {"storage": 0, "dtype": "float32", "shape": [40000], "strides": [1]}}


def long_floats(first=0.0):
    return struct.pack("<40000f", first, *range(1, 40000))


@pytest.fixture
def digesting(binary, worker):
    answer = worker.hello(
        digests={"cpu": str(pathlib.Path(binary).with_name("lockstep-digests-host.so"))}
    )
    assert answer["digests"] == ["cpu"]
    return worker


def held(*datas):
    return [{"bytes": len(data), "digests": text_of(data)} for data in datas]


def test_what_the_runner_has_is_not_sent(digesting):
    x, y = long_floats(), struct.pack("<40000f", *(i + 1 for i in range(40000)))
    seen = digesting.observe(ADDED, LONG, [x], repeat=2, held=held(x, y))
    assert (
        seen["storages"]
        == [
            {"bytes": len(x), "same": {"held": 1}, "blocks": []},
            {"bytes": len(x), "same": {"held": 0}, "blocks": []},
        ]
        * 2
    )
    assert not (digesting.scratch / "1" / "0").exists()


def test_what_differs_is_sent_by_its_blocks(digesting):
    x, y = long_floats(7.0), struct.pack("<40000f", *(i + 1 for i in range(40000)))
    seen = digesting.observe(ADDED, LONG, [x], held=held(y))
    # The input is another one altogether, and what is described first is known from then on.
    assert seen["storages"] == [
        {"bytes": len(x), "same": {"held": 0}, "blocks": [0], "file": "0"},
        {"file": "1", "bytes": len(x)},
    ]
    sent = (digesting.scratch / "1" / "0").read_bytes()
    assert sent == struct.pack("<f", 8.0) + y[4:BLOCK]


def test_whoever_asks_for_nothing_gets_everything(digesting):
    seen = digesting.observe(ADDED, LONG, [long_floats()], repeat=2)
    assert all("same" not in storage for storage in seen["storages"])


def test_a_library_that_digests_nothing_costs_nothing_but_the_digests(worker, tmp_path):
    assert worker.hello(digests={"cpu": str(tmp_path / "gone.so")})["digests"] == ["cpu"]
    seen = worker.observe(ADDED, LONG, [long_floats()], repeat=2, held=[])
    assert all("same" not in storage for storage in seen["storages"])
    assert "gone.so" in worker.stderr(1) and worker.stderr(1).count("sent whole") == 1


def test_results_that_stay_as_they_were_are_not_sent_again(digesting):
    program: dict = {
        "inputs": ["x"],
        "outputs": ["y"],
        "context": {},
        "backward": None,
        "steps": [
            {"let": ["y"], "op": "aten::clone.default", "args": [{"ref": "x"}], "kwargs": {}}
        ],
    }
    seen = digesting.observe(program, LONG, [long_floats()], repeat=3, held=[])
    assert all("again" not in call for run in seen["runs"] for call in run["calls"])
    assert [storage.get("same") for storage in seen["storages"]] == [None, *[{"storage": 0}] * 5]


@pytest.mark.parametrize(
    "given",
    [
        [{}],
        [{"bytes": 8, "digests": "0"}],
        [{"bytes": 8, "digests": "x" * 32}],
        [{"bytes": -1, "digests": ""}],
    ],
)
def test_held_storages_that_are_none_break_the_protocol(digesting, given):
    run = digesting.start(ADDED, LONG, [long_floats()], held=given)
    assert digesting.until("ended", run)[-1]["exit"] == 64


def op(let, name, *args, **kwargs):
    return {"let": let, "op": f"aten::{name}", "args": list(args), "kwargs": kwargs}


FOUR = {"storage": 0, "dtype": "float32", "shape": [4], "strides": [1]}


def test_outputs_may_come_twice_and_be_constants(greeted):
    program = {
        **ROUND_TRIP,
        "steps": [op([None], "neg.default", {"ref": "x"}), op(["y"], "relu.default", {"ref": "x"})],
        "outputs": ["y", None, 3, {"float": "0x1p-1"}, True, "y", "y"],
    }
    (call,) = greeted.observe(program, {"x": FOUR}, [struct.pack("4f", -1, 2, 3, 4)])["runs"][0][
        "calls"
    ]
    outputs = call["outputs"]
    assert list(outputs) == ["y", "output-2", "output-3", "output-4", "output-5", "y(2)", "y(3)"]
    assert [outputs[f"output-{n}"] for n in (2, 3, 5)] == [None, 3, True]
    assert outputs["output-4"] == {"float": "0x1p-1"}
    assert outputs["y"] == outputs["y(2)"] == outputs["y(3)"], "one storage"


@pytest.mark.parametrize("outputs", [[[1]], [{"str": "y"}], [{"ref": "x"}], ["z(2)"]])
def test_what_is_no_output_is_refused(greeted, outputs):
    run = greeted.start({**ROUND_TRIP, "outputs": outputs}, {"x": FOUR}, [b"\0" * 16])
    assert greeted.until("ended", run)[-1].get("error")


# w + tiny is w in float32, and not in float64: what a gold hands on is its own.
ADDS = {
    **ROUND_TRIP,
    "inputs": ["w", "n"],
    "steps": [
        op(["new"], "add.Tensor", {"ref": "w"}, {"float": "0x1p-30"}),
        op([], "add_.Tensor", {"ref": "n"}, 1),
    ],
    "outputs": ["new"],
    "carry": {"w": "new", "n": "n"},
}


def adds(**changes):
    one = {"storage": 0, "dtype": "float32", "shape": [1], "strides": [1]}
    given = {"inputs": {"w": {**one, "requires_grad": True}, "n": {**one, "storage": 1}}}
    return {"calls": [given] * 3, **changes}


@pytest.mark.parametrize("mode", ["plain", "fp64", "stepwise", "mpfr", "perturbed"])
def test_a_call_gets_what_the_call_before_left(greeted, mode):
    storages = [struct.pack("f", 1), struct.pack("f", 10)]
    seen = greeted.observe(ADDS, None, storages, repeat=2, **adds(mode=mode))
    for run in seen["runs"]:
        left = []
        for call in run["calls"]:
            views = [call["outputs"]["new"], call["inputs"]["n"], call["inputs"]["w"]]
            code = {"float32": "f", "float64": "d"}
            left.append(
                [
                    struct.unpack(
                        code[view["dtype"]],
                        (
                            greeted.scratch
                            / str(greeted.runs)
                            / seen["storages"][view["storage"]]["file"]
                        ).read_bytes(),
                    )[0]
                    for view in views
                ]
            )
            assert call["inputs"]["w"]["requires_grad"] is True
        tiny = 2.0**-30 if mode in ("fp64", "mpfr") else 0
        if mode == "perturbed":  # one unit away from the start, and from there like fp64
            first = left[0][2]
            assert first != 1 and [each[0] - first for each in left] == [
                2.0**-30 * k for k in (1, 2, 3)
            ]
            continue
        assert [each[0] for each in left] == [1 + tiny, 1 + 2 * tiny, 1 + 3 * tiny]
        assert [each[1] for each in left] == [11, 12, 13]
        assert [each[2] for each in left] == [1, 1 + tiny, 1 + 2 * tiny]


def test_what_a_gold_lacks_it_does_not_hand_on(greeted):
    program = {
        **ROUND_TRIP,
        "inputs": ["w"],
        "steps": [{"let": ["new"], "call": "torch.relu", "args": [{"ref": "w"}]}],
        "outputs": ["new"],
        "carry": {"w": "new"},
    }
    seen = greeted.observe(
        program, None, [b"\0" * 16], mode="fp64", calls=[{"inputs": {"w": FOUR}}] * 2
    )
    first, second = seen["runs"][0]["calls"]
    assert "inputs" not in first["lost"]
    assert "public Python function" in first["lost"]["outputs"]["new"]
    assert "public Python function" in second["lost"]["inputs"]["w"]


def test_a_call_may_have_a_context_of_its_own(greeted):
    program = {**ROUND_TRIP, "steps": [op(["y"], "mul.Tensor", {"ref": "x"}, 2)], "outputs": ["y"]}
    given = {"inputs": {"x": {**FOUR, "requires_grad": True}}}
    calls = [given, {**given, "context": {"grad": False}}, given]
    seen = greeted.observe(program, None, [b"\0" * 16], calls=calls)
    flags = [call["outputs"]["y"]["requires_grad"] for call in seen["runs"][0]["calls"]]
    assert flags == [True, False, True]
    within = {**program, "context": {"grad": False, "default_dtype": "float64"}}
    calls = [{**given, "context": {"grad": True}}, given]
    seen = greeted.observe(within, None, [b"\0" * 16], calls=calls)
    flags = [call["outputs"]["y"]["requires_grad"] for call in seen["runs"][0]["calls"]]
    assert flags == [True, False]
    calls = [{**given, "context": {"unheard_of": True}}]
    seen = greeted.observe(program, None, [b"\0" * 16], calls=calls)
    assert seen["outcome"] == "unsupported" and "unheard_of" in seen["reason"]


def test_another_thread_may_make_a_call(greeted):
    """It begins with torch's defaults; what it raises, and what it draws, are as ever."""
    program = {
        **ROUND_TRIP,
        "steps": [
            op(["y"], "mul.Tensor", {"ref": "x"}, 2),
            op(["r"], "rand_like.default", {"ref": "x"}),
        ],
        "outputs": ["y", "r"],
        "backward": {"of": ["y"], "with": "ones"},
    }
    given = {"inputs": {"x": {**FOUR, "requires_grad": True}}}
    thread = {"context": {"thread": True}}
    made = [
        greeted.observe(program, None, [b"\0" * 16], calls=[given, {**given, **own}])
        for own in ({}, thread)
    ]
    assert made[0]["runs"] == made[1]["runs"] and made[0]["outcome"] == "returned"
    program = {**ROUND_TRIP, "steps": [op(["y"], "mm.default", {"ref": "x"}, {"ref": "x"})]}
    program = {**program, "outputs": ["y"]}
    made = [
        greeted.observe({**program, **own}, None, [b"\0" * 16], calls=[given])
        for own in ({}, thread)
    ]
    assert made[0]["error"] == made[1]["error"] and made[0]["outcome"] == "raised"
    assert made[0]["after_error"] == made[1]["after_error"]
    within = {**program, "steps": [{"with": {"thread": True}, "steps": program["steps"]}]}
    run = greeted.start(within, None, [b"\0" * 16], calls=[given])
    assert "/thread: steps run in" in greeted.until("ended", run)[-1]["error"]


@pytest.mark.parametrize("enabled", [None, False])
def test_autocast_can_be_off(greeted, enabled):
    inner = {"device": "cpu", "dtype": "bfloat16"} | ({} if enabled is None else {"enabled": False})
    step = op(["y"], "mm.default", {"ref": "x"}, {"ref": "x"})
    program = {
        **ROUND_TRIP,
        "context": {"autocast": {"device": "cpu", "dtype": "bfloat16"}},
        "steps": [{"with": {"autocast": inner}, "steps": [step]}],
        "outputs": ["y"],
    }
    x = {"storage": 0, "dtype": "float32", "shape": [2, 2], "strides": [2, 1]}
    seen = greeted.observe(program, {"x": x}, [b"\0" * 16])
    y = seen["runs"][0]["calls"][0]["outputs"]["y"]
    assert y["dtype"] == ("bfloat16" if enabled is None else "float32")
